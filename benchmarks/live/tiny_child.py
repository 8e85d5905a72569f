"""Writes a tiny causal language model of random weights, with a tokenizer and a chat template that takes tools.

Run by a Python that has tokenizers, and torch and transformers for the weights.

Owns: the folder that an inference server loads. Does not own: which server. Nothing of this project is imported, since
this runs in another environment. Source: facts/real-servers.md section 2; the sizes are ours.

The weights follow from the seed, so replies are the same in every server of one dtype. They mean nothing: what a loaded
server gets wrong shows against its own replies alone, and nowhere else.

Usage: tiny_child.py FOLDER CORPUS_FILE VOCABULARY_SIZE CONTEXT_TOKENS SEED
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from pathlib import Path

SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
MARKUP = ["<tool_call>", "</tool_call>"]
TEMPLATE = (
    "{%- if tools %}<|im_start|>system\nTools: {{ tools | tojson }}\n"
    'Call one as <tool_call>{"name": ..., "arguments": ...}</tool_call><|im_end|>\n{%- endif %}'
    "{%- for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] if message['content'] is string else message | tojson }}<|im_end|>\n{%- endfor %}"
    "{%- if add_generation_prompt %}<|im_start|>assistant\n{%- endif %}"
)
HIDDEN, LAYERS, HEADS, KV_HEADS, HEAD_DIM = 256, 2, 4, 2, 64
SPREAD = 0.08
"""Of the random weights: wide enough that the next token depends on the whole prompt, and not on the last one alone."""


def write_tokenizer(folder: Path, corpus: str, vocabulary: int, context_tokens: int) -> None:
    tokenizers = importlib.import_module("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=vocabulary - len(MARKUP),
        special_tokens=SPECIAL,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(corpus.splitlines(), trainer)
    tokenizer.add_tokens(MARKUP)
    # Some servers make up token ids without looking at the vocabulary; each of them must be some text.
    tokenizer.add_tokens([f" w{number}" for number in range(vocabulary - tokenizer.get_vocab_size())])
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": SPECIAL[2], "pad_token": SPECIAL[0],
        "model_max_length": context_tokens, "chat_template": TEMPLATE, "clean_up_tokenization_spaces": False,
    }  # fmt: skip
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")


def write_configuration(folder: Path, vocabulary: int, context_tokens: int) -> None:
    settings = {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": HIDDEN,
        "intermediate_size": 2 * HIDDEN, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": KV_HEADS, "head_dim": HEAD_DIM, "vocab_size": vocabulary,
        "max_position_embeddings": context_tokens, "rms_norm_eps": 1e-6, "rope_theta": 10_000.0,
        "tie_word_embeddings": False, "torch_dtype": "bfloat16", "hidden_act": "silu", "eos_token_id": 2,
        "pad_token_id": 0, "bos_token_id": None, "use_cache": True,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(settings, indent=1), encoding="utf-8")
    generation = {"eos_token_id": [2], "pad_token_id": 0}
    (folder / "generation_config.json").write_text(json.dumps(generation), encoding="utf-8")


def write_weights(folder: Path, seed: int) -> None:
    torch, transformers = importlib.import_module("torch"), importlib.import_module("transformers")
    torch.manual_seed(seed)
    configuration = transformers.AutoConfig.from_pretrained(str(folder))
    model = transformers.AutoModelForCausalLM.from_config(configuration)
    with torch.no_grad():
        for weights in model.parameters():
            if weights.dim() > 1:
                weights.normal_(0, SPREAD)
    model.to(torch.bfloat16).save_pretrained(str(folder))


def main(folder: Path, corpus: Path, vocabulary: int, context_tokens: int, seed: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder, corpus.read_text(encoding="utf-8"), vocabulary, context_tokens)
    write_configuration(folder, vocabulary, context_tokens)
    if importlib.util.find_spec("torch") is not None:
        write_weights(folder, seed)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), *(int(word) for word in sys.argv[3:6]))
