/** The acts of an owner that the audit log records: changes of who may reach the actor, and copies of its data. */
import type { Caller } from '../caller.ts'
import { currentContext, isInBackground, type OwnAct } from './context.ts'

/** The method and the path of each act, as the audit log has them. A name in braces says what the act is about. */
export const ownActs = {
  'app.connect': 'POST /apps/{peer}',
  'app.disconnect': 'DELETE /apps/{peer}',
  'archive.export': 'GET /export',
  'archive.import': 'POST /import',
  'invitation.create': 'POST /invitations',
  'invitation.revoke': 'DELETE /invitations/{invitation}',
  'key.change': 'PUT /keys/{key}',
  'key.create': 'POST /keys',
  'key.revoke': 'DELETE /keys/{key}',
  'move.begin': 'POST /move',
  'move.stop': 'DELETE /move',
  'passkey.add': 'POST /passkeys',
  'passkey.remove': 'DELETE /passkeys/{passkey}',
  'program.decide': 'PUT /password-access/{actor}',
  'recovery_code.use': 'DELETE /recovery_codes',
  'recovery_codes.create': 'POST /recovery_codes',
  'rights.change': 'PUT /trust/{relationship}/{peer}/permissions',
  'rights.reset': 'DELETE /trust/{relationship}/{peer}/permissions',
  'service.disconnect': 'DELETE /services/{service}',
  'session.begin': 'POST /sessions',
  'session.end': 'DELETE /sessions/{session}',
  'session.end_others': 'DELETE /sessions',
  'trust.change': 'PUT /trust/{relationship}/{peer}',
  'trust.end': 'DELETE /trust/{relationship}/{peer}',
  'trust.request': 'POST /trust',
  'trustee.remove': 'DELETE /trust/trustee',
  'trustee.set': 'PUT /trust/trustee',
  'webhook.add': 'POST /webhooks',
  'webhook.remove': 'DELETE /webhooks/{webhook}',
  'webhook.renew_secret': 'POST /webhooks/{webhook}/secret',
} as const satisfies Record<string, `${OwnAct['method']} /${string}`>

export type OwnActName = keyof typeof ownActs

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type SubjectOf<Act extends OwnActName> = [NamesIn<(typeof ownActs)[Act]>] extends [never]
  ? []
  : [subject: Readonly<Record<NamesIn<(typeof ownActs)[Act]>, string>>]

/** Who acts, at which actor. */
export interface Acting {
  readonly actor: { readonly id: string; readonly creator: string }
  readonly caller: Caller
}

/** Notes an act of the owner, which the audit log records if the request succeeds. Outside a request, nothing is noted. */
export function noteAct<Act extends OwnActName>(actorId: string, act: Act, ...[subject]: SubjectOf<Act>): void {
  const context = currentContext()
  if (context === undefined || isInBackground()) return
  const [method, path] = ownActs[act].split(' ') as [OwnAct['method'], string]
  const values: Readonly<Record<string, string>> = subject ?? {}
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  context.acts = [...(context.acts ?? []), { actorId, method, path: filled }]
}

/** Like `noteAct`, if the caller is the owner. */
export function noteIfOwner<Act extends OwnActName>(
  { actor, caller }: Acting,
  act: Act,
  ...subject: SubjectOf<Act>
): void {
  if (caller.kind === 'creator') noteAct(actor.id, act, ...subject)
}

interface RecordedAct {
  readonly act: OwnActName
  /** The subject of the act, by the names in its path. */
  readonly subject: Readonly<Record<string, string>>
}

/** The act that an entry of the audit log records. Null: an unknown act. @param path The segments of the path, decoded. */
export function recordedAct(method: string, path: readonly string[]): RecordedAct | null {
  for (const [act, pattern] of patterns) {
    const [actMethod, ...names] = pattern
    if (actMethod !== method || names.length !== path.length) continue
    if (names.some((name, at) => !name.startsWith('{') && name !== path[at])) continue
    const subject: Record<string, string> = {}
    for (const [at, name] of names.entries()) if (name.startsWith('{')) subject[name.slice(1, -1)] = path[at] ?? ''
    return { act, subject }
  }
  return null
}

/** The last two are spellings of entries that earlier versions wrote. */
const patterns: readonly (readonly [OwnActName, readonly string[]])[] = [
  ...(Object.entries(ownActs) as [OwnActName, string][]),
  ['trust.change', 'PUT /trust/{peer}'] as const,
  ['trust.end', 'DELETE /trust/{peer}'] as const,
].map(([act, spelling]) => [act, spelling.split(/ ?\//)])
