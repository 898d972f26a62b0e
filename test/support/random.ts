/** A pseudorandom generator that repeats its numbers for the same seed (mulberry32). */
export interface Random {
  /** Returns a number from 0 to less than 1. */
  next(): number
  /** Returns an integer from 0 to less than `limit`. */
  below(limit: number): number
  pick<T>(choices: readonly [T, ...T[]]): T
}

export function seeded(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number): number => Math.floor(next() * limit)
  return { next, below, pick: (choices) => choices[below(choices.length)] ?? choices[0] }
}
