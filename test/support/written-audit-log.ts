/** Waits for the audit log, which the service writes in the background. */
import type { TestService } from './service.ts'

/** Resolves when every entry recorded so far is stored. A peer exchange that holds an actor's row delays its entries. */
export async function writtenAuditLog(service: Pick<TestService, 'app' | 'settled'>): Promise<void> {
  await service.settled()
  const { auditLog } = (await service.app.running()).parts
  // `stop` flushes all entries. The log still accepts new entries afterwards.
  await auditLog.stop()
}
