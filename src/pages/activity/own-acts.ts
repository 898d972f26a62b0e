/** Words for what the owner did: acts that changed who may reach the actor. */
import type { AuditLogEntry } from '../../audit-log/entry.ts'
import type { Messages } from '../languages/language.ts'

type Words = Messages['ownActs']

interface Act {
  readonly method: string
  /** The path below the first segment, decoded. */
  readonly rest: readonly string[]
  readonly words: Words
  readonly nameOf: (peerId: string) => string
}

/** @param path The segments of the path, decoded. */
export function ownSentence(
  { method }: Pick<AuditLogEntry, 'method'>,
  [first = '', ...rest]: readonly string[],
  words: Words,
  nameOf: (peerId: string) => string,
): string {
  const say = sentences.get(first)
  return say?.({ method, rest, words, nameOf }) ?? words.other(`${method} /${[first, ...rest].join('/')}`)
}

const sentences: ReadonlyMap<string, (act: Act) => string | null> = new Map([
  ['apps', appSentence],
  ['export', ({ words }: Act) => words.exportData],
  ['import', ({ words }: Act) => words.importData],
  ['invitations', ({ method, words }: Act) => (method === 'POST' ? words.invite : words.revokeInvitation)],
  ['keys', keySentence],
  ['move', ({ method, words }: Act) => (method === 'POST' ? words.beginMove : words.stopMove)],
  ['passkeys', ({ method, words }: Act) => (method === 'POST' ? words.addPasskey : words.removePasskey)],
  ['password-access', ({ words }: Act) => words.decideProgram],
  ['recovery_codes', ({ method, words }: Act) => (method === 'POST' ? words.createCodes : words.useCode)],
  ['services', ({ rest, words }: Act) => words.disconnect(rest[0] ?? '')],
  ['sessions', sessionSentence],
  ['trust', trustSentence],
  ['webhooks', webhookSentence],
])

function appSentence({ method, rest: [peerId = ''], words, nameOf }: Act): string {
  return method === 'POST' ? words.connect(nameOf(peerId)) : words.disconnect(nameOf(peerId))
}

function keySentence({ method, words }: Act): string {
  if (method === 'POST') return words.createKey
  return method === 'PUT' ? words.changeKey : words.revokeKey
}

function sessionSentence({ method, rest, words }: Act): string {
  if (method === 'POST') return words.signIn
  return rest.length === 0 ? words.signOutOthers : words.signOut
}

function trustSentence({ method, rest, words, nameOf }: Act): string {
  if (rest[0] === 'trustee') return words.changeTrustee
  if (method === 'POST') return words.requestConnection
  if (rest.at(-1) === 'permissions') {
    const who = nameOf(rest.at(-2) ?? '')
    return method === 'PUT' ? words.changeAccess(who) : words.resetAccess(who)
  }
  const who = nameOf(rest.at(-1) ?? '')
  return method === 'DELETE' ? words.disconnect(who) : words.changeConnection(who)
}

function webhookSentence({ method, rest, words }: Act): string {
  if (method === 'DELETE') return words.removeWebhook
  return rest.length > 1 ? words.newWebhookSecret : words.addWebhook
}
