/** Helpers for tests of files. */
import assert from 'node:assert/strict'

/** Requires the status and the code of an error response. */
export async function refuses(answer: Promise<Response>, status: number, code: string): Promise<void> {
  const response = await answer
  const body = (await response.json()) as { error?: string }
  assert.deepEqual([response.status, body.error], [status, code])
}
