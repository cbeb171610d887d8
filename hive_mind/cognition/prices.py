"""What a language model's tokens cost in money, by the providers' published prices; nothing where no price is known.

The prices come with the extra `llm` (genai-prices) and are those of the installed version: nothing is looked up over the network.
"""

from hive_mind.llm.base import Usage


def usd_of(model: str, usage: Usage) -> float | None:
    """US dollars for these tokens of a model named "provider:model", as if nothing was cached; None where no price is known."""
    provider, colon, name = model.partition(":")
    if not (provider and colon and name):
        return None
    try:
        import genai_prices
    except ImportError:
        return None
    tokens = genai_prices.Usage(input_tokens=usage.input_tokens, output_tokens=usage.output_tokens)
    try:
        return float(genai_prices.calc_price(tokens, name, provider_id=provider).total_price)
    except LookupError:
        return None
