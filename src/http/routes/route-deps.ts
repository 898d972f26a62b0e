/** What the edge may call: the domain, already joined. */
import type { Actors } from '../../actor/actors.ts'
import type { ClientAccess } from '../../authorization-server/client-access.ts'
import type { Clients } from '../../authorization-server/clients.ts'
import type { Consents } from '../../authorization-server/consents.ts'
import type { TokenEndpoint } from '../../authorization-server/token-endpoint.ts'
import type { Live } from '../../live/live.ts'
import type { Declared } from '../../mcp/catalogue/declared.ts'
import type { McpEndpoint } from '../../mcp/endpoint.ts'
import type { Attributes } from '../../actor/attributes.ts'
import type { Identity } from '../../app/identity.ts'
import type { Registry } from '../../app/registry.ts'
import type { Authentication } from '../../auth/authenticate.ts'
import type { Config } from '../../config/options.ts'
import type { Timers } from '../../timers.ts'
import type { Ledger } from '../../audit-log/audit-log.ts'
import type { AtOnce } from '../../rate-limit/concurrency-limit.ts'
import type { Guesses } from '../../rate-limit/failed-attempts.ts'
import type { Limiter } from '../../rate-limit/limiter.ts'
import type { LocalLimiter } from '../../rate-limit/local-limiter.ts'
import type { Log } from '../../observe/log.ts'
import type { Metrics } from '../../observe/metrics.ts'
import type { Tracing } from '../../observe/tracing.ts'
import type { Approvals } from '../../operation/approvals.ts'
import type { Callbacks } from '../../operation/callbacks.ts'
import type { Once } from '../../operation/idempotency.ts'
import type { Operations } from '../../operation/operations.ts'
import type { PeerFacts } from '../../replica/peer-metadata.ts'
import type { PeerClient } from '../../peer/peer-client.ts'
import type { Connections } from '../../connection/connections.ts'
import type { Permission } from '../../permission/permission.ts'
import type { Permissions } from '../../trust/permissions.ts'
import type { Relationships } from '../../trust/relationships.ts'
import type { BulkWrite } from '../../property/bulk-write.ts'
import type { Lists } from '../../property/lists.ts'
import type { Properties } from '../../property/properties.ts'
import type { PasswordAccess } from '../../sign-in/password-access.ts'
import type { Providers } from '../../sign-in/provider.ts'
import type { OneTime } from '../../token/one-time.ts'
import type { Purge } from '../../token/purge.ts'
import type { Sessions } from '../../token/sessions.ts'
import type { SpaSessions } from '../../token/spa-sessions.ts'
import type { Tokens } from '../../token/tokens.ts'
import type { Uses } from '../../token/last-used.ts'
import type { SignIn } from '../../sign-in/sign-in.ts'
import type { Companions } from '../../trust/companions.ts'
import type { Contacts } from '../../trust/last-seen.ts'
import type { Trusts } from '../../trust/trusts.ts'
import type { Receiver } from '../../replica/receiver.ts'
import type { Subscribing } from '../../replica/subscribing.ts'
import type { Publications } from '../../publication/publications.ts'
import type { PageSet } from '../../pages/shared/page-set.ts'

export interface RouteDeps {
  readonly config: Config
  readonly identity: Identity
  /** Without a slash at the end. */
  readonly baseUrl: string
  /** The path that every address of the service begins with; empty without a prefix. */
  readonly basePath: string
  readonly registry: Registry
  readonly authentication: Authentication
  readonly limiter: Limiter
  readonly localLimiter: LocalLimiter
  readonly guesses: Guesses
  readonly ledger: Ledger
  readonly connections: Connections
  readonly permission: Permission
  readonly permissions: Permissions
  readonly relationships: Relationships
  readonly actors: Actors
  readonly properties: Properties
  readonly lists: Lists
  readonly bulkWrite: BulkWrite
  readonly operations: Operations
  readonly once: Once
  readonly attributes: Attributes
  readonly contacts: Contacts
  readonly providers: Providers
  readonly passwordAccess: PasswordAccess
  readonly tokens: Tokens
  readonly sessions: Sessions
  readonly spaSessions: SpaSessions
  readonly sessionUses: Uses
  readonly oneTime: OneTime
  readonly purge: Purge
  readonly trusts: Trusts
  readonly companions: Companions
  readonly peerClient: PeerClient
  readonly publications: Publications
  readonly subscribing: Subscribing
  readonly receiver: Receiver
  readonly facts: PeerFacts
  readonly callbacks: Callbacks
  /** Who a client's access token acts for; null for any other text. */
  readonly clientAccess: (token: string) => Promise<ClientAccess | null>
  readonly mcp: McpEndpoint
  readonly declared: Declared
  readonly clients: Clients
  readonly consents: Consents
  readonly tokenEndpoint: TokenEndpoint
  /** Names of the service as a resource of tokens (RFC 8707). */
  readonly resources: readonly string[]
  readonly live: Live
  /** Streams of changes for pages, by the actor. */
  readonly pageStreams: AtOnce
  readonly approvals: Approvals
  readonly signIn: SignIn
  readonly pages: PageSet
  readonly log: Log
  /** Unix milliseconds, by the store's clock. */
  readonly now: () => number
  readonly timers: Timers
  readonly metrics: Metrics
  readonly tracing: Tracing
  readonly health: Health
}

export interface Health {
  /** True once a stop signal arrived. */
  readonly isStopping: () => boolean
  /**
   * Throws ServiceError `store_unavailable` when the store cannot answer, and `unavailable` when the configured keys open
   * none of its secrets.
   */
  readonly checkStore: () => Promise<void>
}
