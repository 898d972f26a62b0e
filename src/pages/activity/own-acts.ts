/** Words for what the owner did: acts that changed who may reach the actor. */
import type { AuditLogEntry } from '../../audit-log/entry.ts'
import { type ActSpelling, type OwnActName, recordedAct, subjectOf } from '../../observe/own-acts.ts'
import type { Messages } from '../languages/language.ts'

type Words = Messages['ownActs']

/** An act of the owner that a feature adds. */
export interface FeatureAct {
  readonly spelling: ActSpelling
  /**
   * Completes the sentence that begins with the owner, such as “added a passkey”.
   *
   * @param tag The language of the page.
   */
  readonly sentence: (words: Words, tag: string) => string
}

interface SentenceNeeds {
  readonly words: Words
  /** The language of the words. */
  readonly tag: string
  readonly ofFeatures: readonly FeatureAct[]
  readonly nameOf: (peerId: string) => string
}

/** @param path The segments of the path, decoded. */
export function ownSentence(
  { method }: Pick<AuditLogEntry, 'method'>,
  path: readonly string[],
  { words, tag, ofFeatures, nameOf }: SentenceNeeds,
): string {
  const recorded = recordedAct(method, path)
  if (recorded === null) {
    const added = ofFeatures.find(({ spelling }) => subjectOf(spelling, method, path) !== null)
    return added === undefined ? words.other(`${method} /${path.join('/')}`) : added.sentence(words, tag)
  }
  const { act, subject } = recorded
  return sentences[act](words, () => nameOf(subject['peer'] ?? ''), subject['service'] ?? '')
}

const sentences: Readonly<Record<OwnActName, (words: Words, peerName: () => string, service: string) => string>> = {
  'app.connect': (words, peerName) => words.connect(peerName()),
  'app.disconnect': (words, peerName) => words.disconnect(peerName()),
  'archive.export': (words) => words.exportData,
  'archive.import': (words) => words.importData,
  'key.change': (words) => words.changeKey,
  'key.create': (words) => words.createKey,
  'key.revoke': (words) => words.revokeKey,
  'move.begin': (words) => words.beginMove,
  'move.stop': (words) => words.stopMove,
  'passkey.add': (words) => words.addPasskey,
  'passkey.remove': (words) => words.removePasskey,
  'program.decide': (words) => words.decideProgram,
  'recovery_code.use': (words) => words.useCode,
  'recovery_codes.create': (words) => words.createCodes,
  'rights.change': (words, peerName) => words.changeAccess(peerName()),
  'rights.reset': (words, peerName) => words.resetAccess(peerName()),
  'service.disconnect': (words, _peerName, service) => words.disconnect(service),
  'session.begin': (words) => words.signIn,
  'session.end': (words) => words.signOut,
  'session.end_others': (words) => words.signOutOthers,
  'trust.change': (words, peerName) => words.changeConnection(peerName()),
  'trust.end': (words, peerName) => words.disconnect(peerName()),
  'trust.request': (words) => words.requestConnection,
  'trustee.remove': (words) => words.changeTrustee,
  'trustee.set': (words) => words.changeTrustee,
}
