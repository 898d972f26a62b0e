/** Finds the rows of the route table for a path: literal segments before `:name`, `:name` before `*`. */
import type { Method, Route } from './route.ts'

/** A route with the positions of its `:name` segments. */
interface Row {
  readonly route: Route
  readonly params: readonly (readonly [name: string, at: number])[]
  /** Where `*` begins; null without one. */
  readonly restAt: number | null
}

interface Node {
  readonly literals: Map<string, Node>
  param: Node | null
  /** Routes that end here, and routes whose `*` begins here. */
  readonly ends: Map<Method, Row>
  readonly rest: Map<Method, Row>
}

export interface Match {
  readonly route: Route
  readonly params: Record<string, string>
  readonly rest: readonly string[]
}

/** The match for the requested method, or else all methods of the path. */
export type Found = { readonly match: Match } | { readonly match: null; readonly allowed: readonly Method[] }

export class RouteTable {
  readonly routes: readonly Route[]
  readonly #root = newNode()

  constructor(routes: readonly Route[]) {
    this.routes = routes
    for (const route of routes) this.#add(route)
  }

  #add(route: Route): void {
    let node = this.#root
    const segments = patternOf(route)
    const isOpen = segments.at(-1) === '*'
    for (const segment of isOpen ? segments.slice(0, -1) : segments) {
      node = segment.startsWith(':') ? (node.param ??= newNode()) : child(node, segment)
    }
    const rows = isOpen ? node.rest : node.ends
    if (rows.has(route.method))
      throw new Error(`Cannot add route ${route.method} ${route.path}: it is already declared`)
    const params = segments.flatMap((part, at) => (part.startsWith(':') ? [[part.slice(1), at] as const] : []))
    rows.set(route.method, { route, params, restAt: isOpen ? segments.length - 1 : null })
  }

  /** Returns the routes of a path with all methods. */
  at(segments: readonly string[]): readonly Route[] {
    const found: Route[] = []
    search(this.#root, segments, 0, (rows) => {
      for (const { route } of rows.values()) found.push(route)
      return undefined
    })
    return found
  }

  find(method: Method | null, segments: readonly string[]): Found {
    const row = method === null ? undefined : search(this.#root, segments, 0, (rows) => rows.get(method))
    if (row !== undefined) return { match: bind(row, segments) }
    return { match: null, allowed: [...new Set(this.at(segments).map((route) => route.method))].sort() }
  }
}

/** Searches the most specific routes first. An empty segment never matches: `a//b` and `a/b/` are different paths from `a/b`. */
function search(
  node: Node,
  segments: readonly string[],
  at: number,
  pick: (rows: ReadonlyMap<Method, Row>) => Row | undefined,
): Row | undefined {
  const segment = segments[at]
  if (segment === undefined) return pick(node.ends) ?? pick(node.rest)
  let row: Row | undefined
  if (segment !== '') {
    const literal = node.literals.get(segment)
    if (literal !== undefined) row = search(literal, segments, at + 1, pick)
    if (row === undefined && node.param !== null) row = search(node.param, segments, at + 1, pick)
  }
  return row ?? pick(node.rest)
}

function patternOf(route: Route): string[] {
  return route.path === '/' ? [] : route.path.slice(1).split('/')
}

function bind({ route, params: named, restAt }: Row, segments: readonly string[]): Match {
  const params: Record<string, string> = {}
  for (const [name, at] of named) params[name] = segments[at] ?? ''
  return { route, params, rest: restAt === null ? [] : segments.slice(restAt) }
}

function newNode(): Node {
  return { literals: new Map(), param: null, ends: new Map(), rest: new Map() }
}

function child(node: Node, segment: string): Node {
  const existing = node.literals.get(segment)
  if (existing !== undefined) return existing
  const made = newNode()
  node.literals.set(segment, made)
  return made
}
