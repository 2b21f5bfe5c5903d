#!/bin/bash
#SBATCH --job-name=prep --time=1:30:00 -n2 -G 4
#SBATCH --gres=gpu:a100:2 --array=0-9%2 -d afterok:12:13,singleton
#SBATCH --export=NONE,PATH,A=b
#WZ --retries=2 --label team=nlp
echo go
