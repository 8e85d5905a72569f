"""Secrets in recorded traffic: what they look like, and their consistent replacement before anything is stored.

Floor 5.
"""
