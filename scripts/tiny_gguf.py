"""Writes a tiny language model with random weights as GGUF: it says nonsense, which is what a check of constrained output needs.

Usage: python tiny_gguf.py OUT.gguf [SEED]        (needs the packages gguf and numpy)
"""

import sys

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, FORWARD, CONTEXT = 2, 64, 4, 128, 32768


def vocabulary():
    """Three control tokens, every byte, and every printable character: so any text can be read and written."""
    tokens = [(b"<unk>", 0.0, gguf.TokenType.UNKNOWN), (b"<s>", 0.0, gguf.TokenType.CONTROL), (b"</s>", 0.0, gguf.TokenType.CONTROL)]
    tokens += [(f"<0x{byte:02X}>".encode(), 0.0, gguf.TokenType.BYTE) for byte in range(256)]
    tokens += [(bytes([c]), -float(c), gguf.TokenType.NORMAL) for c in range(33, 127)]
    tokens.append(("\u2581".encode(), -1.0, gguf.TokenType.NORMAL))
    return tokens


def main():
    path, seed = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    random = np.random.default_rng(seed)
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny-random")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(FORWARD)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([t for t, _, _ in tokens])
    writer.add_token_scores([s for _, s, _ in tokens])
    writer.add_token_types([k for _, _, k in tokens])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)

    def weights(name, *shape):
        writer.add_tensor(name, random.normal(0.0, 0.5, shape).astype(np.float32))

    def ones(name):
        writer.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    weights("token_embd.weight", len(tokens), WIDTH)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        for part in ("q", "k", "v", "output"):
            weights(f"{block}.attn_{part}.weight", WIDTH, WIDTH)
        ones(f"{block}.ffn_norm.weight")
        weights(f"{block}.ffn_gate.weight", FORWARD, WIDTH)
        weights(f"{block}.ffn_up.weight", FORWARD, WIDTH)
        weights(f"{block}.ffn_down.weight", WIDTH, FORWARD)
    ones("output_norm.weight")
    weights("output.weight", len(tokens), WIDTH)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
