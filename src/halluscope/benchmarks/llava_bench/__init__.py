"""LLaVA-Bench (In-the-Wild): how good are responses about images from everywhere, beside GPT-4's (Liu et al., 2023)?"""
