/** The access ledger is written behind the requests, and looked at by tests. */
import { setTimeout as pause } from 'node:timers/promises'
import type { TestService } from './service.ts'

/**
 * Once what was noted is written. What notes a contact, or finds something out about a peer, may hold the actor's turn for
 * a moment: what could not be written then is written with the next flush.
 */
export async function writtenLedger({ app }: Pick<TestService, 'app'>): Promise<void> {
  const { contacts, facts, ledger } = (await app.start()).parts
  await Promise.all([contacts.settled(), facts.settled()])
  await ledger.flush()
  await pause(5)
  await ledger.flush()
}
