/** The allowed imports between the rooms of src, and a check for violations. */

export interface SourceFile {
  /** The path below src, such as `property/properties.ts`. */
  readonly path: string
  readonly text: string
}

/** Rooms that every room in `mayImport` may import. Each may import only earlier rooms of this list. */
export const foundation: readonly string[] = [
  'errors',
  'timers',
  'caller',
  'release',
  'domain-event',
  'json',
  'store port',
  'secret',
  'config',
  'quota',
  'observe',
  'table',
  'due',
  'unsettled',
  'origin',
  'permission',
  'app',
  'live',
  'runtime',
  'actor',
]

/**
 * The rooms that each room may import besides itself and the foundation. A room may name only rooms above it in this table, so the
 * rooms have no cycle. A room that is missing is a violation, so that a new one gets its row.
 */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  'audit-log': [],
  peer: [],
  outbox: ['peer'],
  'rate-limit': [],
  auth: ['rate-limit'],
  token: ['auth'],
  list: [],
  history: ['list'],
  property: ['history', 'list'],
  undo: ['history', 'list', 'property'],
  transaction: ['list', 'property'],
  object: ['rate-limit'],
  trust: ['auth', 'outbox', 'peer', 'property'],
  'authorization-server': ['auth', 'outbox', 'peer', 'token', 'trust'],
  connection: ['peer', 'token'],
  subscription: [],
  job: ['outbox', 'property', 'subscription'],
  publication: ['audit-log', 'outbox', 'peer', 'property', 'subscription', 'trust'],
  replica: ['list', 'outbox', 'peer', 'property', 'publication', 'rate-limit', 'subscription', 'trust'],
  'sign-in': ['peer', 'rate-limit', 'token', 'trust'],
  'http/edge': ['auth', 'token'],
  store: [],
  'store/postgres': ['store'],
  'store/sqlite': ['store'],
  incarnation: ['store'],
  'open-store': ['incarnation', 'store', 'store/postgres', 'store/sqlite'],
  'open-runtime': ['incarnation', 'open-store', 'store'],
  operation: ['audit-log', 'property'],
  archive: ['job', 'list', 'object', 'peer', 'property', 'publication', 'sign-in', 'subscription'],
  backup: ['archive', 'incarnation', 'job', 'object', 'open-store', 'store'],
  moving: ['archive', 'job', 'object', 'outbox', 'peer', 'rate-limit', 'replica', 'trust'],
  'actingweb-import': [
    'archive',
    'authorization-server',
    'publication',
    'replica',
    'sign-in',
    'store',
    'token',
    'trust',
  ],
  'http/dispatch': [
    'audit-log',
    'auth',
    'authorization-server',
    'http/edge',
    'operation',
    'rate-limit',
    'sign-in',
    'token',
  ],
  api: [
    'audit-log',
    'authorization-server',
    'connection',
    'history',
    'job',
    'list',
    'outbox',
    'peer',
    'property',
    'publication',
    'replica',
    'sign-in',
    'transaction',
    'trust',
    'undo',
  ],
  mcp: ['audit-log', 'authorization-server', 'operation', 'property', 'rate-limit'],
  operator: ['audit-log', 'job', 'outbox', 'publication', 'replica', 'sign-in', 'token', 'trust'],
  'http/routes/archive': ['archive', 'http/dispatch', 'http/edge'],
  'http/routes/moves': ['http/dispatch', 'http/edge', 'moving'],
  'http/routes/history': ['history', 'http/dispatch', 'http/edge', 'undo'],
  'http/routes/actor': ['audit-log', 'http/dispatch', 'http/edge', 'list', 'mcp', 'operation', 'property', 'trust'],
  'http/routes/oauth': ['authorization-server', 'http/dispatch', 'http/edge', 'token', 'trust'],
  'http/routes/peers': [
    'http/dispatch',
    'http/edge',
    'operation',
    'property',
    'publication',
    'replica',
    'subscription',
    'trust',
  ],
  'http/routes/sign-in': ['connection', 'http/dispatch', 'http/edge', 'sign-in', 'token'],
  'http/routes/system': ['http/dispatch', 'http/edge', 'mcp', 'operation'],
  spa: ['auth', 'http/dispatch', 'http/edge', 'sign-in', 'token'],
  pages: [
    'archive',
    'audit-log',
    'authorization-server',
    'history',
    'http/dispatch',
    'http/edge',
    'list',
    'mcp',
    'moving',
    'operation',
    'operator',
    'property',
    'publication',
    'rate-limit',
    'replica',
    'sign-in',
    'spa',
    'subscription',
    'token',
    'trust',
    'undo',
  ],
  embedding: ['auth', 'authorization-server', 'http/dispatch', 'http/edge', 'sign-in', 'token'],
  quotas: ['authorization-server', 'property', 'subscription', 'trust'],
  rooms: [
    'api',
    'archive',
    'audit-log',
    'authorization-server',
    'backup',
    'connection',
    'embedding',
    'history',
    'job',
    'mcp',
    'moving',
    'object',
    'operation',
    'operator',
    'outbox',
    'pages',
    'peer',
    'property',
    'publication',
    'quotas',
    'rate-limit',
    'replica',
    'sign-in',
    'token',
    'transaction',
    'trust',
    'undo',
  ],
  'features/feature': ['archive', 'http/dispatch', 'job', 'pages', 'property', 'rooms', 'trust'],
  'features/exports': ['archive', 'features/feature', 'job', 'object'],
  'features/files': [
    'features/feature',
    'http/dispatch',
    'http/edge',
    'http/routes/actor',
    'job',
    'object',
    'pages',
    'property',
  ],
  'features/invitations': ['features/feature', 'http/dispatch', 'http/edge', 'pages', 'property', 'sign-in', 'trust'],
  'features/groups': [
    'archive',
    'features/feature',
    'features/invitations',
    'http/dispatch',
    'http/edge',
    'pages',
    'replica',
    'trust',
  ],
  'features/webhooks': [
    'archive',
    'features/feature',
    'http/dispatch',
    'http/edge',
    'job',
    'outbox',
    'peer',
    'property',
  ],
  'features/mail': [
    'authorization-server',
    'features/feature',
    'http/dispatch',
    'http/edge',
    'job',
    'pages',
    'rate-limit',
    'sign-in',
  ],
  features: [
    'archive',
    'features/feature',
    'features/exports',
    'features/files',
    'features/groups',
    'features/invitations',
    'features/mail',
    'features/webhooks',
    'pages',
    'store',
  ],
  'app-feature': ['features/feature', 'http/dispatch', 'http/edge', 'job', 'pages'],
  service: [
    'api',
    'auth',
    'features',
    'features/feature',
    'http/dispatch',
    'http/edge',
    'http/routes/actor',
    'http/routes/archive',
    'http/routes/history',
    'http/routes/moves',
    'http/routes/oauth',
    'http/routes/peers',
    'http/routes/sign-in',
    'http/routes/system',
    'mcp',
    'open-runtime',
    'outbox',
    'pages',
    'property',
    'rate-limit',
    'replica',
    'rooms',
    'sign-in',
    'spa',
    'token',
    'trust',
  ],
  troupe: [
    'api',
    'app-feature',
    'authorization-server',
    'connection',
    'features',
    'features/feature',
    'http/edge',
    'pages',
    'property',
    'service',
    'sign-in',
  ],
  cli: [
    'actingweb-import',
    'archive',
    'audit-log',
    'backup',
    'features',
    'features/feature',
    'features/mail',
    'history',
    'http/edge',
    'incarnation',
    'job',
    'list',
    'moving',
    'object',
    'open-runtime',
    'open-store',
    'operator',
    'outbox',
    'property',
    'quotas',
    'rate-limit',
    'service',
    'sign-in',
    'store',
    'token',
    'troupe',
    'trust',
  ],
  'node-handler': ['http/edge', 'troupe'],
  client: [],
  testing: ['auth', 'http/edge', 'peer', 'service', 'sign-in', 'troupe'],
}

/** Rooms that may import more than eight others, with the reason. */
export const joins: Readonly<Record<string, string>> = {
  api: 'makes the handle of an actor, which reaches into every room that applications use',
  pages: 'has a folder for each page, and pages show what every room holds',
  rooms: 'creates every room',
  service: 'puts the rooms and the pages behind the route table',
  cli: 'has a file for each command',
  features: 'names every feature',
  troupe: 'has what an application declares and configures',
}

/** The modules that package.json exports. */
const entries = ['index.ts', 'handles.ts', 'mcp.ts', 'pages.ts', 'feature.ts', 'client.ts', 'react.ts', 'testing.ts']

/** The only file that may import a database driver. It opens the configured driver. */
const mayNameADriver = ['open-store.ts']

/** Packages that only these rooms may import. */
const packageRooms: Readonly<Record<string, readonly string[]>> = {
  '@opentelemetry/api': ['observe'],
  liquidjs: ['pages'],
  pg: ['store/postgres', 'actingweb-import'],
  'node:sqlite': ['store/sqlite'],
  'nodemailer/lib/mail-composer': ['features/mail'],
  'nodemailer/lib/smtp-connection': ['features/mail'],
}

/** Returns one sentence for each violation. */
export function violationsIn(files: readonly SourceFile[]): string[] {
  const found: string[] = []
  const graph = new Map<string, string[]>()
  for (const { path, text } of files) {
    const room = roomOf(path)
    if (room !== 'entry' && !foundation.includes(room) && !(room in mayImport))
      found.push(`${path} is in a room that the table of directions does not name: ${room}`)
    const targets: string[] = []
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('.')) targets.push(resolve(path, specifier))
      else if (packageRooms[specifier]?.includes(room) === false) {
        found.push(`${path} imports ${specifier}, which only ${packageRooms[specifier].join(' and ')} may`)
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

/** Returns the specifiers of all static and dynamic imports, including type imports. */
export function importsOf(text: string): string[] {
  const static_ = /^\s*(?:import|export)\b(?:[^'";()]*?\bfrom)?\s*['"]([^'"]+)['"]/gm
  const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g
  return [static_, dynamic].flatMap((pattern) => [...text.matchAll(pattern)].map((match) => match[1] ?? ''))
}

function wrongImport(path: string, target: string): string[] {
  const from = roomOf(path)
  const to = roomOf(target)
  if (target.startsWith('..')) return [`${path} imports ${target}, outside src`]
  // The types of handles, with the members that features add.
  if (from === 'entry' && target === 'handles.ts') return []
  if (entries.includes(target)) return [`${path} imports ${target}, which is for applications only`]
  if (to.startsWith('store/') && from !== to) {
    return mayNameADriver.includes(path) ? [] : [`${path} names a concrete store, ${target}`]
  }
  if (from === to || from === 'entry' || mayKnow(from, to)) return []
  return [`${path} imports ${target}: ${from} may not know ${to}`]
}

function mayKnow(from: string, to: string): boolean {
  const level = foundation.indexOf(from)
  if (level !== -1) return foundation.slice(0, level).includes(to)
  return foundation.includes(to) || mayImport[from]?.includes(to) === true
}

/** Returns the room of a file: its folder below src, or its own name. The store's port and its drivers are separate rooms. */
export function roomOf(path: string): string {
  if (entries.includes(path)) return 'entry'
  if (
    [
      'store',
      'by-key',
      'checksum',
      'after-commit-store',
      'catch-up-store',
      'read-replicas',
      'wrapped-store',
      'delete-in-parts',
    ]
      .map((name) => `store/${name}.ts`)
      .includes(path)
  )
    return 'store port'
  const [first = '', second = '', ...rest] = path.split('/')
  if (first === 'http' && second === 'routes' && rest.length > 1) return `http/routes/${rest[0]}`
  if (first === 'features' && rest.length === 0) return second === 'feature.ts' ? 'features/feature' : 'features'
  if (first === 'features') return `features/${second}`
  if ((first === 'http' || first === 'store') && rest.length > 0) return `${first}/${second}`
  return first.replace(/\.ts$/, '')
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

/** Returns each import cycle once, beginning with the file in which the search found it. */
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
