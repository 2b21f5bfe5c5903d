/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/clusterspec.h"

#include "base/buf.h"

static int bad(struct wz_str part, struct wz_err *err)
{
	return wz_err_set(err, -EINVAL, "BadCluster", WZ_STR("the cluster \""), part,
	        WZ_STR("\" is not NODESxGPUS[:MODEL]; expected such as 8x8 or 4x8:h100, up to 64 GPUs a node"));
}

/* A name of one model of the catalogue, or of a family (then its first), or a new word. */
static int model_of(struct wz_str name, struct wz_sim_nodes *nodes, wz_model_id *ret, struct wz_err *err)
{
	struct wz_model_set set = {{0}};

	if (wz_catalogue_find(nodes->catalogue, name, ret, NULL) == 0)
		return wz_sim_nodes_model(nodes, wz_str(nodes->catalogue->model[ret->v].name), NULL, ret, err);
	if (wz_catalogue_match(nodes->catalogue, name, &set, NULL) == 0)
		for (uint16_t m = 0; m < WZ_MODELS_MAX; m++)
			if (wz_model_set_has(&set, m))
				return wz_sim_nodes_model(
				        nodes, wz_str(nodes->catalogue->model[m].name), NULL, ret, err);
	return wz_sim_nodes_model(nodes, name, NULL, ret, err);
}

static int add_nodes(
        struct wz_sim_nodes *nodes, uint64_t count, uint64_t gpus, wz_model_id model, struct wz_err *err)
{
	struct wz_device_facts device[WZ_NODE_DEVICES_MAX] = {0};
	int r = 0;

	for (uint64_t i = 0; i < gpus; i++)
		device[i] = (struct wz_device_facts){.model = model, .compute_milli = WZ_WHOLE};
	for (uint64_t i = 0; r == 0 && i < count; i++) {
		char name[32];
		struct wz_buf b;
		struct wz_ev_node n = {.device = device, .n_devices = (uint32_t)gpus};
		wz_buf_init_fixed(&b, name, sizeof(name));
		wz_buf_addz(&b, "n");
		wz_buf_add_u64(&b, nodes->n);
		n.name = wz_buf_str(&b);
		n.cpu_milli = (int64_t)gpus * 16000;
		n.mem_bytes = (int64_t)gpus << 37;
		r = wz_sim_nodes_add(nodes, &n, err);
	}
	return r;
}

int wz_clusterspec(struct wz_str text, struct wz_sim_nodes *nodes, struct wz_err *err)
{
	int r = 0;

	if (text.len == 0)
		return bad(text, err);
	while (r == 0 && text.ptr) {
		struct wz_str part = wz_str_split(&text, ','), model = part, size = wz_str_split(&model, ':');
		struct wz_str gpus = size, count = wz_str_split(&gpus, 'x');
		uint64_t n = 0, g = 0;
		wz_model_id id;
		if (wz_str_parse_u64(count, &n) < 0 || !gpus.ptr || wz_str_parse_u64(gpus, &g) < 0 || n == 0 ||
		        g == 0 || n > WZ_NODES_MAX || g > WZ_NODE_DEVICES_MAX || (model.ptr && model.len == 0))
			return bad(part, err);
		r = model_of(model.ptr ? model : WZ_STR(WZ_CLUSTERSPEC_MODEL), nodes, &id, err);
		if (r == 0)
			r = add_nodes(nodes, n, g, id, err);
	}
	return r;
}
