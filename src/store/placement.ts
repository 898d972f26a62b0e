/**
 * The place of every table on a sharded database (docs/decisions/042). Tables of one group have their rows of one key on
 * one server, so a statement about one key may join them.
 */
export type Placement =
  | { readonly kind: 'distributed'; readonly column: string; readonly group: 'actor' | 'name' | 'key' }
  /** A few rows for the whole store, copied to every server. */
  | { readonly kind: 'reference' }

const byActor = (column = 'actor_id'): Placement => ({ kind: 'distributed', column, group: 'actor' })
const byName = (column: string): Placement => ({ kind: 'distributed', column, group: 'name' })
const byKey = (column: string): Placement => ({ kind: 'distributed', column, group: 'key' })
const reference: Placement = { kind: 'reference' }

export const placements: Readonly<Record<string, Placement>> = {
  actor: byActor('id'),
  deleted_actor: byActor('id'),
  former_actor: byActor(),
  departure: byActor(),
  arrival: byActor(),
  arrival_peer: byActor(),
  property: byActor(),
  list_node: byActor(),
  list_item: byActor(),
  list_index: byActor(),
  removed_list: byActor(),
  actor_lookup: byActor(),
  attribute: byActor(),
  trust: byActor(),
  invitation: byActor(),
  companion: byActor(),
  permission_override: byActor(),
  expiry: byActor(),
  publisher_subscription: byActor(),
  diff: byActor(),
  missed_deletion: byActor(),
  waiting_change: byActor(),
  delivery: byActor(),
  delivery_run: byActor(),
  suspension: byActor(),
  subscriber_subscription: byActor(),
  pending_callback: byActor(),
  notice: byActor('sender'),
  account: byActor(),
  passkey: byActor(),
  recovery_code: byActor(),
  token_chain: byActor(),
  activity: byActor(),
  history: byActor(),
  service_connection: byActor(),
  recent_change: byActor(),
  mcp_session: byActor(),
  mcp_answer: byActor(),
  mcp_task: byActor(),
  approval: byActor(),
  idempotent_request: byActor(),
  job: byActor(),
  job_entry: byActor(),
  webhook: byActor(),
  file: byActor(),
  file_usage: byActor(),
  file_object: byActor(),
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
  schema_migrations: reference,
}
