/** Deps of the handlers of the relationship pages. */
import type { AuditLog } from '../../audit-log/audit-log.ts'
import { choiceField, optional, stringField, type ValuesOf } from '../../json/fields.ts'
import type { PageDeps } from '../shared/page.ts'
import type { PeerNameDeps } from '../shared/peer-names.ts'
import type { TrustRowDeps } from '../shared/trust-rows.ts'
import type { View } from '../shared/values.ts'
import type { TrustListValues, TrustNewValues, TrustPeerValues, TrustViewValues } from './values.ts'
import type { TrustActs } from '../../trust/acts/trust-acts.ts'
import type { RightsActs } from '../../trust/acts/rights-acts.ts'
import type { Permissions } from '../../trust/permissions.ts'
import type { Subscribing } from '../../replica/subscribing.ts'
import type { Properties } from '../../property/properties.ts'
import type { Caller } from '../../caller.ts'
import type { RuledCategory } from '../../permission/rules.ts'
import type { Operations } from '../../operation/operations.ts'
import type { DeclaredNames } from '../../mcp/catalogue/declared.ts'
import type { McpEndpoint } from '../../mcp/endpoint.ts'
import type { Config } from '../../config/options.ts'

export const peerQuery = {
  edit: optional(choiceField('`access` shows a choice in each row of the access table', ['access'])),
  ask: optional(stringField('What is asked about, as `<category>.<operation>`')),
  target: optional(stringField('Of which name; with `ask` the page says whether the peer may, and why')),
}
export type PeerQuery = ValuesOf<typeof peerQuery>

/** The names of an actor in a category of rights, which a feature adds. */
export interface FeatureNames {
  readonly category: RuledCategory
  readonly read: (actorId: string, caller: Caller) => AsyncIterable<readonly string[]>
}

export interface RelationshipPageDeps extends PageDeps, PeerNameDeps, TrustRowDeps {
  readonly auditLog: Pick<AuditLog, 'page'>
  readonly trustActs: TrustActs
  readonly rightsActs: RightsActs
  readonly permissions: Permissions
  readonly subscribing: Subscribing
  readonly properties: Properties
  readonly featureNames: readonly FeatureNames[]
  readonly operations: Operations
  readonly declared: DeclaredNames
  readonly mcp: McpEndpoint
  readonly config: Pick<Config, 'clientTrustTypes' | 'peerProfileAttributes' | 'relationship'>
  readonly pages: {
    readonly trust: View<TrustListValues>
    readonly trustNew: View<TrustNewValues>
    readonly trustPeer: View<TrustPeerValues>
    readonly trustView: View<TrustViewValues>
  }
}
