/** Reads, merges and deletes values below a path of an object, and leaves the rest of the text unchanged. */
import { ServiceError } from '../errors.ts'
import { endOfString, endOfValue, MemberWalk } from './scan.ts'
import { halfPair } from './surrogates.ts'
import { defaultMaxDepth, known, type JsonText } from './text.ts'

const isObjectAt = (text: string, at: number): boolean => text.charCodeAt(at) === 0x7b

/** The value at `path`. Undefined when a step is missing, or leads through a value that is not an object. */
export function getAt(text: JsonText, path: readonly string[]): JsonText | undefined {
  let start = 0
  for (const step of path) {
    const walk = findMember(text, start, step)
    if (walk === null) return undefined
    start = walk.valueStart
  }
  return path.length === 0 ? text : known(text.slice(start, endOfValue(text, start)))
}

/**
 * Writes `value` at `path`. Missing levels are created, objects are merged key by key at every depth, and all other
 * values are replaced.
 *
 * @throws ServiceError `conflict` when a stored value on the path is not an object; `invalid_value` when the result
 *   would be nested too deeply, or the path has half a surrogate pair.
 */
export function mergeAt(text: JsonText | undefined, path: readonly string[], value: JsonText): JsonText {
  if (path.length + depthOf(value) > defaultMaxDepth) {
    throw new ServiceError('invalid_value', `The value would be nested deeper than ${defaultMaxDepth} levels`)
  }
  if (!path.every((step) => step.isWellFormed())) throw halfPair('The path has')
  if (text === undefined) return known(wrap(path, value))
  let start = 0
  for (const [depth, step] of path.entries()) {
    if (!isObjectAt(text, start)) {
      const holder = depth === 0 ? 'the stored value' : `the value at ${JSON.stringify(path.slice(0, depth).join('/'))}`
      throw new ServiceError('conflict', `Cannot write ${JSON.stringify(path.join('/'))}: ${holder} is not an object`)
    }
    const walk = findMember(text, start, step)
    if (walk === null) return known(addMember(text, start, step, wrap(path.slice(depth + 1), value)))
    start = walk.valueStart
  }
  const end = endOfValue(text, start)
  return known(text.slice(0, start) + merge(text, start, end, value) + text.slice(end))
}

/** The text without the key at `path`. Undefined when the key does not exist. */
export function deleteAt(text: JsonText, path: readonly string[]): JsonText | undefined {
  let start = 0
  let walk: MemberWalk | null = null
  for (const step of path) {
    walk = findMember(text, start, step)
    if (walk === null) return undefined
    start = walk.valueStart
  }
  if (walk === null) return undefined
  let from = walk.keyStart
  let to = endOfValue(text, walk.valueStart)
  // One comma beside the name and its value is deleted with them.
  if (text.charCodeAt(to) === 0x2c) to++
  else if (text.charCodeAt(from - 1) === 0x2c) from--
  return known(text.slice(0, from) + text.slice(to))
}

function findMember(text: string, start: number, key: string): MemberWalk | null {
  if (!isObjectAt(text, start)) return null
  const raw = JSON.stringify(key)
  const walk = new MemberWalk(text, start)
  while (walk.next()) {
    if (walk.keyEnd - walk.keyStart === raw.length && text.startsWith(raw, walk.keyStart)) return walk
    walk.pass()
  }
  return null
}

function wrap(path: readonly string[], value: string): string {
  let out = value
  for (let depth = path.length - 1; depth >= 0; depth--) out = `{${JSON.stringify(path[depth])}:${out}}`
  return out
}

function addMember(text: string, objectStart: number, key: string, value: string): string {
  const close = endOfValue(text, objectStart) - 1
  const comma = close === objectStart + 1 ? '' : ','
  return `${text.slice(0, close)}${comma}${JSON.stringify(key)}:${value}${text.slice(close)}`
}

function merge(text: string, start: number, end: number, value: JsonText): string {
  if (!isObjectAt(text, start) || !isObjectAt(value, 0)) return value
  return mergeTrees(readTree(text.slice(start, end), 0), readTree(value, 0))
}

/** The position of a value in its text and, for an object, the positions of its members at any depth. */
interface Tree {
  readonly text: string
  readonly start: number
  readonly end: number
  /** By raw key; null when the value is not an object. */
  readonly members: ReadonlyMap<string, Tree> | null
}

function readTree(text: string, start: number): Tree {
  if (!isObjectAt(text, start)) return { text, start, end: endOfValue(text, start), members: null }
  const members = new Map<string, Tree>()
  const walk = new MemberWalk(text, start)
  while (walk.next()) {
    const member = readTree(text, walk.valueStart)
    members.set(walk.rawKey(), member)
    walk.skipTo(member.end)
  }
  return { text, start, end: walk.end(), members }
}

function mergeTrees(into: Tree, from: Tree): string {
  if (into.members === null || from.members === null) return from.text.slice(from.start, from.end)
  let out = ''
  for (const [key, member] of into.members) {
    const other = from.members.get(key)
    const merged = other === undefined ? member.text.slice(member.start, member.end) : mergeTrees(member, other)
    out += `${out === '' ? '{' : ','}${key}:${merged}`
  }
  for (const [key, member] of from.members) {
    if (into.members.has(key)) continue
    out += `${out === '' ? '{' : ','}${key}:${member.text.slice(member.start, member.end)}`
  }
  return out === '' ? '{}' : `${out}}`
}

/** The depth of the deepest nested container. */
function depthOf(text: JsonText): number {
  let depth = 0
  let deepest = 0
  let at = 0
  while (at < text.length) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      at = endOfString(text, at)
      continue
    }
    at++
    if (code === 0x7b || code === 0x5b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x7d || code === 0x5d) depth--
  }
  return deepest
}
