/** The directions in which the rooms of src may know each other, and what breaks them. */

export interface SourceFile {
  /** Below src, such as `property/lists.ts`. */
  readonly path: string
  readonly text: string
}

const foundation = ['errors', 'release', 'json', 'observe', 'config']
const domain = [
  'actor',
  'api',
  'app',
  'audit-log',
  'auth',
  'authorization-server',
  'caller',
  'domain-event',
  'connection',
  'list',
  'live',
  'operation',
  'outbox',
  'peer',
  'permission',
  'property',
  'publication',
  'rate-limit',
  'replica',
  'runtime',
  'secret',
  'sign-in',
  'subscription',
  'timers',
  'token',
  'trust',
]
const domainMay = [...foundation, ...domain, 'store port']

/** What each room may import beside itself. A room that is missing here is a violation, so that a new one gets its line. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  errors: [],
  json: ['errors'],
  observe: ['errors', 'json'],
  config: ['errors', 'json', 'observe', 'secret'],
  'store port': ['errors'],
  store: ['errors', 'store port'],
  'store/sqlite': ['errors', 'store port', 'store'],
  'store/postgres': ['errors', 'store port', 'store'],
  ...Object.fromEntries(domain.map((room) => [room, domainMay])),
  'open-store': ['errors', 'store port', 'store', 'store/sqlite', 'store/postgres'],
  pages: [...foundation, ...domain, 'http', 'mcp'],
  spa: [...foundation, ...domain, 'http'],
  http: [...foundation, ...domain, 'pages', 'spa', 'mcp'],
  // Sessions and tasks of the protocol are kept; nobody else has a use for them.
  mcp: [...foundation, ...domain, 'store port'],
  // The release's number, read from the package.
  release: [],
  'open-runtime': [...domainMay, 'release', 'open-store'],
  service: [...domainMay, 'release', 'open-runtime', 'http', 'pages', 'spa', 'mcp'],
  // What an application declares, and the service that it makes: above everything but the commands.
  troupe: [...domainMay, 'release', 'http', 'pages', 'spa', 'service'],
  'node-handler': ['http', 'troupe'],
  cli: [
    ...domainMay,
    'release',
    'open-runtime',
    'store',
    'open-store',
    'http',
    'pages',
    'spa',
    'mcp',
    'service',
    'troupe',
  ],
  handles: ['app'],
  index: [...domainMay, 'store', 'http', 'pages', 'spa', 'mcp', 'service', 'troupe', 'node-handler'],
}

/** The folders of http that each of its lower folders, and the rooms that answer through it, may import. */
const mayImportOfHttp: Readonly<Record<string, readonly string[]>> = {
  'http/edge': ['http/edge'],
  'http/dispatch': ['http/edge', 'http/dispatch'],
  pages: ['http/edge', 'http/dispatch'],
  spa: ['http/edge', 'http/dispatch'],
}

/** What package.json exports. */
const entries = ['index.ts', 'handles.ts', 'mcp.ts', 'pages.ts']

/** It opens the driver that is configured. No other file names one. */
const mayNameADriver = ['open-store.ts']

/** Packages that belong to one room. */
const packageRooms: Readonly<Record<string, string>> = {
  '@opentelemetry/api': 'observe',
  liquidjs: 'pages',
  pg: 'store/postgres',
  'node:sqlite': 'store/sqlite',
}

/** One sentence per violation; empty when every direction is kept. */
export function violationsIn(files: readonly SourceFile[]): string[] {
  const found: string[] = []
  const graph = new Map<string, string[]>()
  for (const { path, text } of files) {
    const room = roomOf(path)
    if (!(room in mayImport)) found.push(`${path} is in a room that the table of directions does not name: ${room}`)
    const targets: string[] = []
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) targets.push(resolve(path, specifier))
      else if (packageRooms[specifier] !== undefined && packageRooms[specifier] !== room) {
        found.push(`${path} imports ${specifier}, which only ${packageRooms[specifier]} may`)
      }
    }
    graph.set(path, targets)
    for (const target of targets) found.push(...wrongImport(path, target))
    if (path !== 'config/env.ts' && readsEnvironment(text)) {
      found.push(`${path} reads the environment, which only config/env.ts may`)
    }
  }
  return [...found, ...cyclesIn(graph)]
}

/** The specifiers of all static and dynamic imports, those of types included. */
export function importsOf(text: string): string[] {
  const static_ = /^\s*(?:import|export)\b(?:[^'";()]*?\bfrom)?\s*['"]([^'"]+)['"]/gm
  const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g
  return [static_, dynamic].flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''))
}

function wrongImport(path: string, target: string): string[] {
  const from = roomOf(path)
  const to = roomOf(target)
  if (target.startsWith('..')) return [`${path} imports ${target}, outside src`]
  if (entries.includes(target)) return [`${path} imports ${target}, which is for applications only`]
  if (to.startsWith('store/') && from !== to) {
    return mayNameADriver.includes(path) ? [] : [`${path} names a concrete store, ${target}`]
  }
  const ofHttp = mayImportOfHttp[from === 'http' ? folderOf(path) : from]
  if (to === 'http' && ofHttp?.includes(folderOf(target)) === false)
    return [`${path} imports ${target}: ${from === 'http' ? folderOf(path) : from} may not know ${folderOf(target)}`]
  if (from === to || mayImport[from]?.includes(to) === true) return []
  return [`${path} imports ${target}: ${from} may not know ${to}`]
}

/** The folder below src, or the name of a file directly in it; the store's port and its drivers are rooms of their own. */
function roomOf(path: string): string {
  if (['store/store.ts', 'store/checksum.ts', 'store/after-commit-store.ts'].includes(path)) return 'store port'
  if (/^store\/[^/]+\//.test(path)) return path.split('/').slice(0, 2).join('/')
  return (path.split('/')[0] ?? '').replace(/\.ts$/, '')
}

function folderOf(path: string): string {
  return path.split('/').slice(0, 2).join('/')
}

function readsEnvironment(text: string): boolean {
  return /\bprocess\s*(\?\.|\.|\[\s*['"])\s*env\b/.test(text) || importsOf(text).includes('node:process')
}

function resolve(path: string, specifier: string): string {
  const parts = path.split('/').slice(0, -1)
  for (const part of specifier.split('/')) {
    if (part === '..' && parts.length > 0 && parts.at(-1) !== '..') parts.pop()
    else if (part !== '.') parts.push(part)
  }
  return parts.join('/')
}

/** Each cycle once, from the file whose visit found it. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const cycles: string[] = []
  const done = new Set<string>()
  const trail: string[] = []
  const visit = (path: string): void => {
    if (done.has(path)) return
    const at = trail.indexOf(path)
    if (at !== -1) {
      cycles.push(`a cycle: ${[...trail.slice(at), path].join(' → ')}`)
      return
    }
    trail.push(path)
    for (const target of graph.get(path) ?? []) visit(target)
    trail.pop()
    done.add(path)
  }
  for (const path of graph.keys()) visit(path)
  return cycles
}
