/** Finds the rows of the route table for a path: literal segments before `:name`, `:name` before `*`. */
import type { Method, Route } from './route.ts'

interface Node {
  readonly literals: Map<string, Node>
  param: Node | null
  /** Routes that end here, and routes whose `*` begins here. */
  readonly ends: Map<Method, Route>
  readonly rest: Map<Method, Route>
}

export interface Match {
  readonly route: Route
  readonly params: Record<string, string>
  readonly rest: readonly string[]
}

/** All methods that a path takes, or the match for the one that was asked for. */
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
    if (rows.has(route.method)) throw new Error(`Two routes for ${route.method} ${route.path}`)
    rows.set(route.method, route)
  }

  /** Every row of a path, whatever its method. */
  at(segments: readonly string[]): readonly Route[] {
    const candidates: ReadonlyMap<Method, Route>[] = []
    collect(this.#root, segments, 0, candidates)
    return candidates.flatMap((rows) => [...rows.values()])
  }

  find(method: Method | null, segments: readonly string[]): Found {
    const candidates: ReadonlyMap<Method, Route>[] = []
    collect(this.#root, segments, 0, candidates)
    for (const rows of candidates) {
      const route = method === null ? undefined : rows.get(method)
      if (route !== undefined) return { match: bind(route, segments) }
    }
    const allowed = new Set(candidates.flatMap((rows) => [...rows.keys()]))
    return { match: null, allowed: [...allowed].sort() }
  }
}

/** Most specific first. An empty segment never matches: `a//b` and `a/b/` are not spellings of `a/b`. */
function collect(node: Node, segments: readonly string[], at: number, found: ReadonlyMap<Method, Route>[]): void {
  const segment = segments[at]
  if (segment === undefined) {
    if (node.ends.size > 0) found.push(node.ends)
  } else if (segment !== '') {
    const literal = node.literals.get(segment)
    if (literal !== undefined) collect(literal, segments, at + 1, found)
    if (node.param !== null) collect(node.param, segments, at + 1, found)
  }
  if (node.rest.size > 0) found.push(node.rest)
}

function patternOf(route: Route): string[] {
  return route.path === '/' ? [] : route.path.slice(1).split('/')
}

function bind(route: Route, segments: readonly string[]): Match {
  const params: Record<string, string> = {}
  const pattern = patternOf(route)
  pattern.forEach((part, index) => {
    if (part.startsWith(':')) params[part.slice(1)] = segments[index] ?? ''
  })
  return { route, params, rest: pattern.at(-1) === '*' ? segments.slice(pattern.length - 1) : [] }
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
