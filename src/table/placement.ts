/**
 * The place of every table on a sharded database (docs/decisions/042). Tables of one group have their rows of one key on
 * one server, so a statement about one key may join them.
 */
export type Placement =
  | { readonly kind: 'distributed'; readonly column: string; readonly group: 'actor' | 'name' | 'key' }
  /** A few rows for the whole store, copied to every server. */
  | { readonly kind: 'reference' }

/** The places of tables, by their names. */
export type Placements = Readonly<Record<string, Placement>>

/** The rows of an actor are on the server of the actor. */
export const placedByActor = (column = 'actor_id') => ({ kind: 'distributed', column, group: 'actor' }) as const
const byName = (column: string): Placement => ({ kind: 'distributed', column, group: 'name' })
const byKey = (column: string): Placement => ({ kind: 'distributed', column, group: 'key' })
const reference: Placement = { kind: 'reference' }

/** The tables of the core. */
const corePlacements: Placements = {
  actor: placedByActor('id'),
  deleted_actor: placedByActor('id'),
  former_actor: placedByActor(),
  departure: placedByActor(),
  arrival: placedByActor(),
  arrival_peer: placedByActor(),
  property: placedByActor(),
  list_node: placedByActor(),
  list_item: placedByActor(),
  list_index: placedByActor(),
  removed_list: placedByActor(),
  actor_lookup: placedByActor(),
  attribute: placedByActor(),
  trust: placedByActor(),
  companion: placedByActor(),
  permission_override: placedByActor(),
  expiry: placedByActor(),
  publisher_subscription: placedByActor(),
  diff: placedByActor(),
  missed_deletion: placedByActor(),
  waiting_change: placedByActor(),
  delivery: placedByActor(),
  delivery_run: placedByActor(),
  suspension: placedByActor(),
  subscriber_subscription: placedByActor(),
  pending_callback: placedByActor(),
  notice: placedByActor('sender'),
  account: placedByActor(),
  passkey: placedByActor(),
  recovery_code: placedByActor(),
  token_chain: placedByActor(),
  activity: placedByActor(),
  history: placedByActor(),
  service_connection: placedByActor(),
  recent_change: placedByActor(),
  mcp_session: placedByActor(),
  mcp_answer: placedByActor(),
  mcp_task: placedByActor(),
  approval: placedByActor(),
  idempotent_request: placedByActor(),
  job: placedByActor(),
  job_entry: placedByActor(),
  file_object: placedByActor(),
  // Found before the actor is known: by the name of a person.
  creator: byName('name'),
  identity: byName('name'),
  password_access: byName('creator'),
  // Found before the actor is known: by a key of their own.
  property_lookup: byKey('value'),
  token: byKey('hash'),
  one_time: byKey('hash'),
  oauth_client: byKey('client_id'),
  rate_limit: byKey('key'),
  schedule: byKey('name'),
  setting: reference,
  process: reference,
  schema_migrations: reference,
  feature_migration: reference,
}

/** The places of all tables: those of the core, and of these tables of features. */
export function placementsWith(tables: readonly { readonly name: string; readonly place: Placement }[]): Placements {
  return { ...corePlacements, ...Object.fromEntries(tables.map(({ name, place }) => [name, place])) }
}

/** Whether every server has a copy of the table. */
export function isReference(table: string): boolean {
  return corePlacements[table]?.kind === 'reference'
}
