/** Statements are counted for one request: what an earlier one left to be done behind it is no cost of it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { TestService } from './service.ts'

/** Resolves when nothing is asked of the store for a moment; counting begins anew then. */
export async function quiet(service: Pick<TestService, 'statements' | 'reset'>): Promise<void> {
  for (let before = -1; before !== service.statements.length; await pause(10)) before = service.statements.length
  service.reset()
}
