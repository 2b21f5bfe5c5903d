// SPDX-License-Identifier: Apache-2.0
// Words of the page in two languages. The English text is the key, so a word that was forgotten is still readable.
const zh: Record<string, string> = {
  'Board': '拼图板', 'Queue': '队列', 'Timeline': '时间线', 'Repack': '重排', 'Usage': '用量', 'Health': '健康', 'What if': '假如', 'Replay': '回放',
  'Jobs': '作业', 'Job': '作业', 'Search': '搜索', 'user, job, queue, model, node': '用户、作业、队列、型号、节点',
  'devices': '设备', 'busy': '占用', 'idle but held': '占而不用', 'broken': '故障', 'running': '运行', 'waiting': '等待', 'oldest wait': '最久等待',
  'fragments': '碎片', 'free': '空闲', 'free pieces': '空闲块', 'full': '占满', 'closed': '不可用', 'foreign process': '外来进程',
  'live': '实时', 'reconnecting': '重新连接中', 'past': '过去', 'Colour by': '着色', 'user': '用户', 'queue': '队列', 'job': '作业', 'use': '利用率', 'temperature': '温度',
  'Table': '表格', 'Picture': '图形', 'State': '状态', 'User': '用户', 'Name': '名称', 'Reason': '原因', 'Priority': '优先级', 'Wait': '等待', 'Run': '运行', 'Expected start': '预计开始',
  'Position': '位次', 'Profile': '需求', 'Submitted': '提交', 'Started': '开始', 'Ended': '结束', 'Attempt': '尝试', 'Attempts': '历次尝试', 'Devices': '设备', 'Node': '节点', 'Model': '型号',
  'Memory': '显存', 'Compute': '算力', 'Utilisation': '利用率', 'Temperature': '温度', 'Power': '功率', 'Exit': '退出码', 'Command': '命令', 'Folder': '目录', 'Environment': '环境变量', 'Comment': '备注',
  'Why does it wait?': '为什么在等？', 'All of these must clear': '以下全部解除才能开始', 'It can never start here as it is': '按现状永远无法在此开始', 'Changes that would let it start': '这样改就能开始',
  'Apply': '应用', 'now': '现在', 'nodes': '节点', 'Not blocking': '无关因素', 'How we know': '依据',
  'Log': '日志', 'Follow': '跟随', 'Cancel job': '取消作业', 'Hold': '挂起', 'Release': '放行', 'Requeue': '重新排队', 'Resubmit with edits': '修改后再提交', 'Suspend': '冻结', 'Resume': '继续',
  'Really': '确定', 'Yes': '是', 'No': '否', 'Submit': '提交', 'Close': '关闭', 'Loading': '加载中', 'Nothing here': '这里什么也没有', 'matches': '处匹配', 'of': '/',
  'Log in': '登录', 'Token': '令牌', 'Log out': '退出登录', 'You need to log in. Run': '需要登录。请运行', 'and open the link that it prints, or paste a token.': '并打开它给出的链接，或粘贴令牌。',
  'Only the owner and admins may see this': '只有作业主人和管理员能看',
  'Back to now': '回到现在', 'The board as it was at': '当时的拼图板：', 'Show the board then': '看那一刻的拼图板', 'Drag to look at any past moment': '拖动以查看过去任一时刻',
  'past day': '过去一天', 'planned': '计划', 'moved': '移动', 'preempted': '被抢占', 'hours': '小时',
  'By user': '按用户', 'By queue': '按队列', 'By model': '按型号', 'By day': '按天', 'By state': '按状态', 'GPU-hours': '卡时', 'wasted': '浪费', 'Wasted GPU-hours': '浪费的卡时', 'Completed': '完成', 'Failed': '失败', 'Cancelled': '取消',
  'Median wait': '等待中位数', '95th percentile': '95 分位', 'numbers as': '数据：', 'Price of a GPU-hour': '每卡时价格', 'Cost': '费用',
  'Allocated against used': '分配与实际使用', 'Fair share: guaranteed against used': '公平份额：应得与已用', 'guaranteed': '应得', 'used': '已用', 'limit': '上限',
  'The waste gap: held against used': '浪费的缺口：占用与实际使用', 'held': '占用', 'Utilisation over time': '利用率变化',
  'Held but idle': '占着不用', 'Devices that need a look': '需要看一眼的设备', 'All devices are healthy': '所有设备健康', 'Nobody holds idle devices': '没有人占着不用',
  'Before': '之前', 'After': '之后', 'moves': '移动', 'gain': '收益', 'cost': '代价', 'Nothing to gain now': '现在重排没有收益', 'Apply this plan': '执行此方案',
  'Open a file of': '打开文件：', 'Play': '播放', 'Pause': '暂停', 'Speed': '速度', 'step': '步', 'not a journal': '不是日志文件', 'line': '第几行',
  'This daemon does not do that yet': '此守护进程尚不支持', 'theme': '主题', 'Skip to content': '跳到内容', 'Filter': '筛选', 'all': '全部', 'rows': '行',
  'nothing expected fits': '预期的作业都放不下', 'expected jobs fit': '预期的作业放得下', 'Expected work': '预期的作业', 'nodes with room': '有空位的节点', 'share of the mix': '占比',
  'whole devices': '整卡', 'Legend': '图例', 'Device': '设备', 'Select with arrow keys, open with Enter': '方向键选择，回车打开', 'node': '节点', 'limit set': '上限', 'Compare': '比较', 'job(s)': '个作业',
  'latest by limits': '按时限最迟', 'gone': '不再', 'unchanged': '不变',
  'starts earlier': '开始更早', 'starts later': '开始更晚', 'Queue limit': '队列上限', 'Change': '改动', 'See what changes': '看看有何变化', 'progress': '进度', 'Utilisation now': '当前利用率',
};

export type Lang = 'en' | 'zh';
let lang: Lang = 'en';

export function initLang(): Lang {
  const kept = localStorage.getItem('wz.lang');
  lang = kept === 'zh' || kept === 'en' ? kept : navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en';
  document.documentElement.lang = lang === 'zh' ? 'zh-CN' : 'en';
  return lang;
}
export function setLang(l: Lang) { localStorage.setItem('wz.lang', l); initLang(); }
export function getLang(): Lang { return lang; }
export function t(en: string): string { return lang === 'zh' ? zh[en] ?? en : en; }
export const known = Object.keys(zh);

// ---- figures ----

const bytesUnits = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
export function bytes(n: number): string {
  let u = 0, v = n;
  while (Math.abs(v) >= 1024 && u < bytesUnits.length - 1) { v /= 1024; u++; }
  return `${u && Math.abs(v) < 10 ? v.toFixed(1) : Math.round(v)} ${bytesUnits[u]}`;
}
export function duration(us: number): string {
  const s = Math.max(0, Math.round(us / 1e6));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${String(Math.floor(s / 60) % 60).padStart(2, '0')}`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s / 3600) % 24} h`;
}
export function moment(us: number | undefined): string {
  if (!us) return '';
  const d = new Date(us / 1000), now = new Date();
  const sameDay = d.toDateString() === now.toDateString();
  const locale = lang === 'zh' ? 'zh-CN' : 'en-GB';
  return sameDay ? d.toLocaleTimeString(locale) : d.toLocaleString(locale, { dateStyle: 'short', timeStyle: 'medium' });
}
export function count(n: number): string { return n.toLocaleString(lang === 'zh' ? 'zh-CN' : 'en-GB'); }
