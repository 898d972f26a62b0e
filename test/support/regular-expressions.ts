/** The regular expressions of source files, and how many steps a backtracking engine takes for a string. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parseSync } from 'rolldown/utils'
import type { Entry, Guard, PatternGraph, PatternStep } from '../../src/app/patterns/graph.ts'

export interface Literal {
  readonly place: string
  readonly source: string
  readonly flags: string
}

export interface Expressions {
  readonly literals: readonly Literal[]
  /** The files that make expressions from strings, with the number of places. */
  readonly made: ReadonlyMap<string, number>
}

/** Reads the syntax tree of every TypeScript file below the folder. */
export async function expressionsIn(folder: string): Promise<Expressions> {
  const literals: Literal[] = []
  const made = new Map<string, number>()
  for (const name of (await readdir(folder, { recursive: true })).toSorted()) {
    if (!name.endsWith('.ts')) continue
    const text = await readFile(join(folder, name), 'utf8')
    const file = name.replaceAll('\\', '/')
    const visit = (node: unknown): void => {
      if (typeof node !== 'object' || node === null) return
      if (Array.isArray(node)) return node.forEach(visit)
      const { type, regex, callee, start } = node as Record<string, unknown>
      if (type === 'Literal') {
        if (typeof regex !== 'object' || regex === null) return
        const { pattern, flags } = regex as { readonly pattern: string; readonly flags: string }
        const line = text.slice(0, Number(start)).split('\n').length
        literals.push({ place: `${file}:${line}`, source: pattern, flags })
        return
      }
      const called = (callee as { readonly name?: unknown } | undefined)?.name
      if ((type === 'NewExpression' || type === 'CallExpression') && called === 'RegExp')
        made.set(file, (made.get(file) ?? 0) + 1)
      Object.values(node).forEach(visit)
    }
    visit(parseSync(name, text).program)
  }
  return { literals, made }
}

interface Way {
  readonly step: number
  readonly position: number
  readonly loops: Repeated | null
}

interface Repeated {
  readonly loop: number
  readonly position: number
  readonly before: Repeated | null
}

/**
 * Searches a match as a backtracking engine does. Assertions with a pattern count as fulfilled, and repetitions with a high limit as endless.
 *
 * @param text indexes of the characters of the graph.
 */
export function search(
  graph: PatternGraph,
  { step: entry, isSearched, isInner }: Entry,
  text: readonly number[],
): { readonly steps: number; readonly matches: boolean } {
  let steps = 0
  const lastStart = isSearched ? text.length : 0
  for (let start = 0; start <= lastStart; start++) {
    const open: Way[] = [{ step: entry, position: start, loops: null }]
    for (let way = open.pop(); way !== undefined; way = open.pop()) {
      steps += 1
      const step = graph.steps[way.step]
      if (step?.kind === 'accept') {
        if (!isInner) return { steps, matches: true }
        // The engine continues after the lookaround, and comes back to it at the next place.
        break
      }
      if (step !== undefined) open.push(...waysAfter(graph, step, way, text))
    }
  }
  return { steps, matches: false }
}

/** The ways that continue a way, the first choice last. */
function waysAfter(graph: PatternGraph, step: PatternStep, way: Way, text: readonly number[]): Way[] {
  const { position, loops } = way
  if (step.kind === 'read') {
    const isRead = position < text.length && graph.sets[step.set]?.has(text[position] ?? -1) === true
    return isRead ? [{ step: step.next, position: position + 1, loops }] : []
  }
  if (step.kind === 'guard')
    return passes(graph, step.guard, text, position) ? [{ step: step.next, position, loops }] : []
  if (step.kind === 'accept') return []
  for (let one = loops; one !== null && one.position === position; one = one.before)
    if (one.loop === way.step) return []
  const ways = step.next.map((next) => ({
    step: next,
    position,
    loops: next === step.again ? { loop: way.step, position, before: loops } : loops,
  }))
  return ways.toReversed()
}

function passes(graph: PatternGraph, guard: Guard, text: readonly number[], position: number): boolean {
  const last = text[position - 1]
  const next = text[position]
  const isLineEnd = (one: number | undefined): boolean => one !== undefined && graph.lineEnds.has(one)
  if (guard.kind === 'start') return last === undefined || (guard.multiline && isLineEnd(last))
  if (guard.kind === 'end') return next === undefined || (guard.multiline && isLineEnd(next))
  const isWord = (one: number | undefined): boolean => one !== undefined && graph.words.has(one)
  if (guard.kind === 'word') return (isWord(last) !== isWord(next)) !== guard.negate
  const seen = guard.kind === 'after' ? next : last
  return (seen !== undefined && graph.sets[guard.set]?.has(seen) === true) !== guard.negate
}

/** Makes strings that a pattern reads repeatedly before it fails, from ways through its graph and from its characters. */
export function attacks(
  graph: PatternGraph,
  random: () => number,
): readonly (readonly [number[], number[], number[]])[] {
  const characters = [...graph.characters.keys()]
  const pick = <T>(from: readonly T[]): T | undefined => from[Math.floor(random() * from.length)]
  const way = (length: number): number[] => {
    const text: number[] = []
    let at = pick(graph.entries)?.step ?? 0
    for (let moves = 0; moves < 400 && text.length < length; moves++) {
      const step = graph.steps[at]
      if (step === undefined || step.kind === 'accept') break
      if (step.kind === 'read') text.push(pick([...(graph.sets[step.set] ?? [])]) ?? 0)
      at = step.kind === 'choose' ? (pick(step.next) ?? 0) : step.next
    }
    return text
  }
  const pumps = characters.slice(0, 40).map((character) => [character])
  for (let count = 0; count < 12; count++) {
    const text = way(12)
    const from = Math.floor(random() * text.length)
    pumps.push(text, text.slice(from), text.slice(0, 1 + (from % 4)), [pick(characters) ?? 0, pick(characters) ?? 0])
  }
  return pumps
    .filter((pump) => pump.length > 0)
    .flatMap((pump) => {
      const afters = [[], ...characters.filter(() => random() < 0.3).map((one) => [one, pick(characters) ?? 0])]
      return afters.map((after): [number[], number[], number[]] => [
        pick([[], way(6), [pick(characters) ?? 0]]) ?? [],
        pump,
        after,
      ])
    })
}
