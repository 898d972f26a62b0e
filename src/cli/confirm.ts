/** Asks the operator before a command changes or deletes something. */
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { printText } from './output.ts'
import { UsageError } from './usage-error.ts'

/**
 * Returns whether the operator typed `answer`.
 *
 * @param act What `--yes` allows, such as `delete the actor`.
 * @throws UsageError without a terminal, where no one can answer.
 */
export async function isConfirmed(
  question: string,
  {
    answer,
    act,
    isSure = false,
  }: { readonly answer: string; readonly act: string; readonly isSure?: boolean | undefined },
): Promise<boolean> {
  if (isSure) return true
  if (!process.stdin.isTTY) throw new UsageError(`Cannot ask for confirmation without a terminal: add --yes to ${act}.`)
  printText(question)
  const lines = createInterface({ input: process.stdin })
  const [given] = (await Promise.race([once(lines, 'line'), once(lines, 'close').then(() => [''])])) as [string]
  lines.close()
  return given.trim() === answer
}
