"""The recall model: a small constructed sparse-attention model whose right answer is known. Floor 2c.

Owns: what tokens mean to the model (`contexts`), what a page holds (`content`, `torn`), what a layer makes of the bytes
it read (`indexed`, `summaries`), and the next token (`recall`, `generate`). Does not own: versions, pools, time, who
reads what when; the engines call these pure functions with the bytes that their reads saw.

    tokens -> context hashes -> rows (index-K, latents, summaries) -> pages -> readings -> layer outputs -> next token

Corruption is never drawn from a random number here. A layer that selects by another session's keys attends over the
wrong entries, and its output votes for whatever token those happen to carry.
"""
