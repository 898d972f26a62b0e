/** `troupe compact`: returns the space of deleted data to the file system, while the service runs. */
import { compactStore } from '../open-store.ts'
import { print, sizeText } from './output.ts'
import { UsageError } from './usage-error.ts'
import { commandConfig } from './project/known-project.ts'

export async function compact(args: readonly string[]): Promise<number> {
  const [word, ...more] = args
  if (more.length > 0 || (word !== undefined && word !== 'full'))
    throw new UsageError('Cannot run troupe compact: expected full or no argument.')
  const config = commandConfig()
  const { before, after } = await compactStore({
    url: config.database,
    schema: config.databaseSchema,
    isFull: word === 'full',
  })
  print(`The database had ${sizeText(before)}, and has ${sizeText(after)} now.`)
  return 0
}
