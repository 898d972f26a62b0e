/**
 * The table of methods. It defines capabilities, dispatch, metric labels, target in the audit log, caching,
 * downgrades and the rule of `Mcp-Name`. A new method is one file in `methods` and one row here.
 */
import type { Catalogue } from './catalogue/catalogue.ts'
import {
  downgradeCallResult,
  downgradePromptMessages,
  downgradePrompts,
  downgradeResources,
  downgradeResourceTemplates,
  downgradeTools,
} from './codecs/downgrade.ts'
import type { CallMethod, Capabilities, McpMethod } from './method.ts'
import { callTool } from './methods/call-tool.ts'
import { cancelCall } from './methods/cancel-call.ts'
import { cancelTask } from './methods/cancel-task.ts'
import { completeArgument } from './methods/complete-argument.ts'
import { discover } from './methods/discover.ts'
import { getPrompt } from './methods/get-prompt.ts'
import { getTask } from './methods/get-task.ts'
import { initialize } from './methods/initialize.ts'
import { listPrompts } from './methods/list-prompts.ts'
import { listResourceTemplates } from './methods/list-resource-templates.ts'
import { listResources } from './methods/list-resources.ts'
import { listTools } from './methods/list-tools.ts'
import { listen } from './methods/listen.ts'
import { ping } from './methods/ping.ts'
import { readResource } from './methods/read-resource.ts'
import { setLogLevel } from './methods/set-log-level.ts'
import { subscribeResource } from './methods/subscribe-resource.ts'
import { unsubscribeResource } from './methods/unsubscribe-resource.ts'
import { updateTask } from './methods/update-task.ts'
import { legacyRevisions, modernRevision, type Revision, since } from './protocol/revisions.ts'
import { tasksExtension } from './tasks/tasks.ts'

const legacy: readonly Revision[] = legacyRevisions
const modern: readonly Revision[] = [modernRevision]
const every: readonly Revision[] = [...legacy, ...modern]

/** Lists may change with the application's rules at any moment, so clients cache them briefly. */
const listTtlMs = 5_000
const discoverTtlMs = 60_000

/** The methods, in the order of their capabilities in the response to `initialize`. */
export const mcpMethods: readonly McpMethod[] = [
  {
    name: 'initialize',
    kind: 'handshake',
    revisions: legacy,
    handle: (deps, access, id, params) =>
      initialize(deps, access, id, params, (revision) => capabilitiesOf(deps.catalogues.of(access.actor), revision)),
  },
  { name: 'ping', kind: 'session', revisions: legacy, handle: ping },
  {
    name: 'tools/list',
    kind: 'call',
    revisions: every,
    handle: listTools,
    ttlMs: listTtlMs,
    downgrade: downgradeTools,
    capabilities: ({ tools }) => (tools.size === 0 ? {} : { tools: { listChanged: true } }),
  },
  {
    name: 'tools/call',
    kind: 'call',
    revisions: every,
    handle: callTool,
    target: 'name',
    declaredIn: 'tools',
    mayAskClient: true,
    mayChange: true,
    hasErrorResult: true,
    downgrade: downgradeCallResult,
  },
  {
    name: 'prompts/list',
    kind: 'call',
    revisions: every,
    handle: listPrompts,
    ttlMs: listTtlMs,
    downgrade: downgradePrompts,
    capabilities: ({ prompts }) => (prompts.size === 0 ? {} : { prompts: { listChanged: true } }),
  },
  {
    name: 'prompts/get',
    kind: 'call',
    revisions: every,
    handle: getPrompt,
    target: 'name',
    declaredIn: 'prompts',
    mayAskClient: true,
    downgrade: downgradePromptMessages,
  },
  {
    name: 'resources/subscribe',
    kind: 'session',
    revisions: legacy,
    handle: subscribeResource,
    target: 'uri',
    capabilities: () => ({ resources: { subscribe: true } }),
  },
  { name: 'resources/unsubscribe', kind: 'session', revisions: legacy, handle: unsubscribeResource, target: 'uri' },
  {
    name: 'subscriptions/listen',
    kind: 'stream',
    revisions: modern,
    open: listen,
    capabilities: () => ({ resources: { subscribe: true } }),
  },
  {
    name: 'resources/list',
    kind: 'call',
    revisions: every,
    handle: listResources,
    ttlMs: listTtlMs,
    downgrade: downgradeResources,
    // The properties of the actor are resources in every application.
    capabilities: () => ({ resources: { listChanged: true } }),
  },
  {
    name: 'resources/templates/list',
    kind: 'call',
    revisions: every,
    handle: listResourceTemplates,
    ttlMs: listTtlMs,
    downgrade: downgradeResourceTemplates,
  },
  {
    name: 'resources/read',
    kind: 'call',
    revisions: every,
    handle: readResource,
    target: 'uri',
    mayAskClient: true,
    ttlMs: 0,
  },
  {
    name: 'completion/complete',
    kind: 'call',
    revisions: every,
    handle: completeArgument,
    // The oldest revision has the method, but no capability for it.
    capabilities: (_catalogue, revision) => (since(revision, '2025-03-26') ? { completions: {} } : {}),
  },
  {
    name: 'logging/setLevel',
    kind: 'session',
    revisions: legacy,
    handle: setLogLevel,
    capabilities: () => ({ logging: {} }),
  },
  {
    name: 'server/discover',
    kind: 'call',
    revisions: modern,
    handle: (deps, call) => discover(deps, capabilitiesOf(deps.catalogues.of(call.access.actor), call.revision)),
    ttlMs: discoverTtlMs,
    // In this revision, requests set the log level in `_meta`, not by a method.
    capabilities: () => ({ logging: {} }),
  },
  {
    name: 'tasks/get',
    kind: 'call',
    revisions: modern,
    handle: getTask,
    target: 'taskId',
    capabilities: () => ({ extensions: { [tasksExtension]: {} } }),
  },
  { name: 'tasks/update', kind: 'call', revisions: modern, handle: updateTask, target: 'taskId' },
  { name: 'tasks/cancel', kind: 'call', revisions: modern, handle: cancelTask, target: 'taskId' },
  { name: 'notifications/cancelled', kind: 'notification', revisions: legacy, handle: cancelCall },
]

const byName: ReadonlyMap<string, McpMethod> = new Map(mcpMethods.map((method) => [method.name, method]))

/** The row of a method. Undefined for a method that the revision does not have. */
export function mcpMethodOf(name: string, revision: Revision): McpMethod | undefined {
  const method = byName.get(name)
  return method?.revisions.includes(revision) === true ? method : undefined
}

/** The row of a call. Undefined for a method that is not a call, or that the revision does not have. */
export function callMethodOf(name: string, revision: Revision): CallMethod | undefined {
  const method = mcpMethodOf(name, revision)
  return method?.kind === 'call' ? method : undefined
}

/** True for a request that opens a session, whatever revision the message claims. */
export function isHandshake(name: string): boolean {
  return byName.get(name)?.kind === 'handshake'
}

/** The capabilities that the server declares in this revision. */
export function capabilitiesOf(catalogue: Catalogue, revision: Revision): Capabilities {
  const declared: Record<string, object> = {}
  for (const { revisions, capabilities } of mcpMethods) {
    if (capabilities === undefined || !revisions.includes(revision)) continue
    for (const [name, value] of Object.entries(capabilities(catalogue, revision))) {
      declared[name] = { ...declared[name], ...value }
    }
  }
  return declared
}
