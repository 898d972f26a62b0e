/**
 * Finds regular expressions whose time grows faster than the length of the text. An engine that backtracks tries every way
 * to match. The number of ways is exponential if a loop reads the same text in two ways, and polynomial if two loops that follow
 * each other read the same text. The search for a start is a loop too.
 */
import { type Entry, type Guard, type PatternGraph, patternGraph } from './graph.ts'

export type Growth = 'linear' | 'polynomial' | 'exponential'

/** The search for the place where a match begins. Other positions are steps that read a character. */
const search = -1
/** Beyond this number of compared states, a pattern counts as polynomial. */
const maxStates = 400_000

/** @throws Error when the pattern is not valid, or too long to be checked. */
export function growthOf(source: string, flags: string): Growth {
  const graph = patternGraph(source, flags)
  if (graph.hasEmptyCopies) return 'exponential'
  const growths = graph.entries.map((entry) => new Analysis(graph, entry).growth())
  return growths.find((growth) => growth === 'exponential') ?? growths.find((growth) => growth !== 'linear') ?? 'linear'
}

interface Ways {
  /** How many ways lead to each position: 1, or 2 for more. */
  readonly to: ReadonlyMap<number, number>
}

class TooMany extends Error {}

class Analysis {
  readonly #graph: PatternGraph
  readonly #entry: Entry
  readonly #known = new Map<string, Ways>()
  #states = 0

  constructor(graph: PatternGraph, entry: Entry) {
    this.#graph = graph
    this.#entry = entry
  }

  growth(): Growth {
    try {
      return this.#growth()
    } catch (error) {
      if (error instanceof TooMany) return 'polynomial'
      throw error
    }
  }

  #growth(): Growth {
    const reachable = this.#reachable()
    const loops = components(reachable, (position) => this.#after(position))
    const isRepeated = this.#entry.isInner && this.#entry.isSearched
    const failing = (position: number): boolean => isRepeated || !this.#acceptsAlways(position)
    for (const loop of new Set(loops.values()))
      if ([...loop].some((position) => position !== search && failing(position)) && this.#hasTwoWays(loop))
        return 'exponential'
    for (const [last, lastLoop] of loops)
      if (last !== search && failing(last))
        for (const [first, firstLoop] of loops)
          if (firstLoop !== lastLoop && this.#areExchanged([first, firstLoop], [last, lastLoop])) return 'polynomial'
    return 'linear'
  }

  #reachable(): Set<number> {
    const starts = this.#graph.characters.flatMap((_, next) => [...this.#ways(this.#entry.step, null, next).to.keys()])
    const open = this.#entry.isSearched ? [search, ...starts] : starts
    const seen = new Set(open)
    for (let position = open.pop(); position !== undefined; position = open.pop())
      for (const next of this.#after(position)) {
        if (seen.has(next)) continue
        seen.add(next)
        open.push(next)
      }
    return seen
  }

  /** The positions that can read the next character after this one. */
  #after(position: number): Set<number> {
    const after = new Set<number>()
    for (const character of this.#charactersOf(position))
      for (const next of this.#graph.characters.keys())
        for (const [to] of this.#move(position, character, next)) after.add(to)
    return after
  }

  #charactersOf(position: number): Iterable<number> {
    const step = this.#graph.steps[position]
    return step?.kind === 'read' ? (this.#graph.sets[step.set] ?? []) : this.#graph.characters.keys()
  }

  /** The positions that read the character `next` after `position` read `last`, with the number of ways. */
  #move(position: number, last: number, next: number): ReadonlyMap<number, number> {
    if (++this.#states > maxStates) throw new TooMany()
    if (position !== search) {
      const step = this.#graph.steps[position]
      return this.#ways(step?.kind === 'read' ? step.next : 0, last, next).to
    }
    return new Map([[search, 1], ...this.#ways(this.#entry.step, last, next).to])
  }

  #ways(step: number, last: number | null, next: number): Ways {
    const key = `${step} ${last} ${next}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    const to = new Map<number, number>()
    /** The loops that the way repeats. An engine ends a loop that read nothing. */
    const repeated = new Set<number>()
    const visit = (at: number): void => {
      if (++this.#states > maxStates) throw new TooMany()
      const one = this.#graph.steps[at]
      if (one === undefined || repeated.has(at)) return
      if (one.kind === 'read' && this.#graph.sets[one.set]?.has(next)) to.set(at, Math.min(2, (to.get(at) ?? 0) + 1))
      if (one.kind === 'guard' && this.#passes(one.guard, last, next)) visit(one.next)
      if (one.kind !== 'choose') return
      for (const then of one.next) {
        if (then === one.again) repeated.add(at)
        visit(then)
        repeated.delete(at)
      }
    }
    visit(step)
    const ways = { to }
    this.#known.set(key, ways)
    return ways
  }

  /** Whether a condition holds between two characters. `last` is null at the start of the text. */
  #passes(guard: Guard, last: number | null, next: number): boolean {
    const { words, lineEnds, sets } = this.#graph
    if (guard.kind === 'start') return last === null || (guard.multiline && lineEnds.has(last))
    if (guard.kind === 'end') return guard.multiline && lineEnds.has(next)
    if (guard.kind === 'word') return ((last !== null && words.has(last)) !== words.has(next)) !== guard.negate
    const seen = guard.kind === 'after' ? next : last
    return (seen !== null && (sets[guard.set]?.has(seen) ?? false)) !== guard.negate
  }

  /** True when the pattern matches after this position, whatever follows. */
  #acceptsAlways(position: number): boolean {
    const step = this.#graph.steps[position]
    if (step?.kind !== 'read') return false
    const isUniversal =
      this.#graph.sets[step.set]?.size === this.#graph.characters.length && this.#after(position).has(position)
    const seen = new Set<number>()
    const accepts = (at: number): boolean => {
      const one = this.#graph.steps[at]
      if (one === undefined || seen.has(at)) return false
      seen.add(at)
      if (one.kind === 'accept') return true
      if (one.kind === 'choose') return one.next.some(accepts)
      return one.kind === 'guard' && one.guard.kind === 'end' && isUniversal && accepts(one.next)
    }
    return accepts(step.next)
  }

  /** True when the positions of a loop can read a text in two ways that begin and end at one position. */
  #hasTwoWays(loop: ReadonlySet<number>): boolean {
    const states = new Map<string, readonly [number, number, number]>()
    const add = (one: number, other: number, character: number): string => {
      const key = `${one} ${other} ${character}`
      states.set(key, [one, other, character])
      return key
    }
    let hasDouble = false
    const after = (key: string): Set<string> => {
      const [one, other, last] = states.get(key) ?? [0, 0, 0]
      const found = new Set<string>()
      for (const next of this.#graph.characters.keys())
        for (const [to, ways] of this.#move(one, last, next))
          for (const [otherTo] of this.#move(other, last, next))
            if (loop.has(to) && loop.has(otherTo)) {
              if (one === other && to === otherTo && ways > 1) hasDouble = true
              found.add(add(to, otherTo, next))
            }
      return found
    }
    const starts = [...loop].flatMap((position) =>
      [...this.#charactersOf(position)].map((character) => add(position, position, character)),
    )
    const loops = new Set(components(starts, after).values())
    const isSame = (key: string): boolean => {
      const [one, other] = states.get(key) ?? [0, 1]
      return one === other
    }
    if (hasDouble) return true
    for (const found of loops) if ([...found].some(isSame) && ![...found].every(isSame)) return true
    return false
  }

  /** True when a text can be read by the first loop, by the last, and by both in turn. */
  #areExchanged(
    [first, firstLoop]: readonly [number, ReadonlySet<number>],
    [last, lastLoop]: readonly [number, ReadonlySet<number>],
  ): boolean {
    const ends = new Set(this.#charactersOf(last))
    return [...this.#charactersOf(first)].some(
      (character) => ends.has(character) && this.#meets(first, last, character, { firstLoop, lastLoop }),
    )
  }

  #meets(
    first: number,
    last: number,
    character: number,
    { firstLoop, lastLoop }: { readonly firstLoop: ReadonlySet<number>; readonly lastLoop: ReadonlySet<number> },
  ): boolean {
    const open: (readonly [number, number, number, number])[] = [[first, first, last, character]]
    const seen = new Set<string>()
    const goal = `${first} ${last} ${last} ${character}`
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      const [one, two, three, before] = state
      for (const next of this.#graph.characters.keys()) {
        const ones = [...this.#move(one, before, next).keys()].filter((to) => firstLoop.has(to))
        const threes = [...this.#move(three, before, next).keys()].filter((to) => lastLoop.has(to))
        if (ones.length === 0 || threes.length === 0) continue
        for (const to of this.#move(two, before, next).keys())
          for (const oneTo of ones)
            for (const threeTo of threes) {
              const key = `${oneTo} ${to} ${threeTo} ${next}`
              if (key === goal) return true
              if (seen.has(key)) continue
              seen.add(key)
              open.push([oneTo, to, threeTo, next])
            }
      }
    }
    return false
  }
}

/** The strongly connected components with a cycle, by their members, without recursion. */
function components<T>(starts: Iterable<T>, after: (one: T) => Iterable<T>): Map<T, Set<T>> {
  const found = new Map<T, Set<T>>()
  const order = new Map<T, { index: number; low: number; isOpen: boolean; readonly next: T[] }>()
  const path: T[] = []
  for (const start of starts) {
    if (order.has(start)) continue
    const calls: T[] = []
    const enter = (one: T): void => {
      order.set(one, { index: order.size, low: order.size, isOpen: true, next: [...after(one)] })
      path.push(one)
      calls.push(one)
    }
    enter(start)
    for (let one = calls.at(-1); one !== undefined; one = calls.at(-1)) {
      const own = order.get(one)
      if (own === undefined) break
      const next = own.next.pop()
      if (next !== undefined) {
        const other = order.get(next)
        if (other === undefined) enter(next)
        else if (other.isOpen) own.low = Math.min(own.low, other.index)
        continue
      }
      calls.pop()
      const caller = order.get(calls.at(-1) as T)
      if (caller !== undefined) caller.low = Math.min(caller.low, own.low)
      if (own.low === own.index) close(one)
    }
  }
  return found

  function close(first: T): void {
    const members = new Set<T>()
    for (let one = path.pop(); one !== undefined; one = path.pop()) {
      members.add(one)
      const own = order.get(one)
      if (own !== undefined) own.isOpen = false
      if (one === first) break
    }
    const hasCycle = members.size > 1 || [...after(first)].includes(first)
    if (hasCycle) for (const member of members) found.set(member, members)
  }
}
