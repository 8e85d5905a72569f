"""A live deployment under load: any server that speaks the OpenAI API, measured and judged like a simulated one.

Floor 5.
"""
