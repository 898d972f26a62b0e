/** The audit log is written behind the requests, and read by tests. */
import type { TestService } from './service.ts'

/** Resolves when every entry recorded so far is stored. A peer exchange that holds an actor's row delays its entries. */
export async function writtenLedger(service: Pick<TestService, 'app' | 'settled'>): Promise<void> {
  await service.settled()
  const { ledger } = (await service.app.running()).parts
  // Flushes until no entry is left; the log takes new entries afterwards.
  await ledger.stop()
}
