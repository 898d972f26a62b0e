/** The acts of an owner that the audit log records: changes of who may reach the actor, and copies of its data. */
import type { Caller } from '../caller.ts'
import { currentContext, isInBackground, type OwnAct } from './context.ts'

/** The method and the path of an act, as the audit log has them. A name in braces says what the act is about. */
export type ActSpelling = `${OwnAct['method']} /${string}`

/** The acts of the core. Features declare theirs. */
export const ownActs = {
  'app.connect': 'POST /apps/{peer}',
  'app.disconnect': 'DELETE /apps/{peer}',
  'archive.export': 'GET /export',
  'archive.import': 'POST /import',
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
} as const satisfies Record<string, ActSpelling>

export type OwnActName = keyof typeof ownActs

type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never
type SpellingOf<Act extends OwnActName | ActSpelling> = Act extends OwnActName ? (typeof ownActs)[Act] : Act
type SubjectOf<Act extends OwnActName | ActSpelling> = [NamesIn<SpellingOf<Act>>] extends [never]
  ? []
  : [subject: Readonly<Record<NamesIn<SpellingOf<Act>>, string>>]

/** Who acts, at which actor. */
export interface Acting {
  readonly actor: { readonly id: string; readonly creator: string; readonly kind: string }
  readonly caller: Caller
}

/**
 * Notes an act of the owner, which the audit log records if the request succeeds. Outside a request, nothing is noted.
 *
 * @param act The name of an act of the core, or the spelling of an act that a feature declares.
 */
export function noteAct<Act extends OwnActName | ActSpelling>(
  actorId: string,
  act: Act,
  ...[subject]: SubjectOf<Act>
): void {
  const context = currentContext()
  if (context === undefined || isInBackground()) return
  const spelling: ActSpelling = isOfCore(act) ? ownActs[act] : act
  const [method, path] = spelling.split(' ') as [OwnAct['method'], string]
  const values: Readonly<Record<string, string>> = subject ?? {}
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ''))
  context.acts = [...(context.acts ?? []), { actorId, method, path: filled }]
}

function isOfCore(act: OwnActName | ActSpelling): act is OwnActName {
  return Object.hasOwn(ownActs, act)
}

/** Like `noteAct`, if the caller is the owner. */
export function noteIfOwner<Act extends OwnActName | ActSpelling>(
  { actor, caller }: Acting,
  act: Act,
  ...subject: SubjectOf<Act>
): void {
  if (caller.kind === 'creator') noteAct(actor.id, act, ...subject)
}

type Subject = Readonly<Record<string, string>>

interface RecordedAct {
  readonly act: OwnActName
  /** The subject of the act, by the names in its path. */
  readonly subject: Subject
}

/** The act of the core that an entry of the audit log records. Null: another act. @param path The segments of the path, decoded. */
export function recordedAct(method: string, path: readonly string[]): RecordedAct | null {
  for (const [act, spelling] of spellings) {
    const subject = subjectOf(spelling, method, path)
    if (subject !== null) return { act, subject }
  }
  return null
}

/** The subject of an act, if the entry with this method and path records it. @param path The segments of the path, decoded. */
export function subjectOf(spelling: ActSpelling, method: string, path: readonly string[]): Subject | null {
  const [actMethod, ...names] = spelling.split(/ ?\//)
  if (actMethod !== method || names.length !== path.length) return null
  if (names.some((name, at) => !name.startsWith('{') && name !== path[at])) return null
  const subject: Record<string, string> = {}
  for (const [at, name] of names.entries()) if (name.startsWith('{')) subject[name.slice(1, -1)] = path[at] ?? ''
  return subject
}

/** The last two are spellings of entries that earlier versions wrote. */
const spellings: readonly (readonly [OwnActName, ActSpelling])[] = [
  ...(Object.entries(ownActs) as [OwnActName, ActSpelling][]),
  ['trust.change', 'PUT /trust/{peer}'],
  ['trust.end', 'DELETE /trust/{peer}'],
]
