/** `troupe restored`: says that the database is a copy which no mark names, such as one from a snapshot of a disk. */
import { beginIncarnation } from '../incarnation/incarnation.ts'
import { commandArgs } from './command-args.ts'
import { withExistingStore } from './existing-store.ts'
import { print, printJson } from './output.ts'
import { UsageError } from './usage-error.ts'

export async function restored(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe restored', args, { json: 'boolean' })
  if (words.length > 0) throw new UsageError('Cannot run troupe restored: expected no argument besides options.')
  return withExistingStore(async (store) => {
    const { id } = await beginIncarnation(store)
    if (options.json === true) printJson({ incarnation: id })
    else print(`The database begins incarnation ${id}.`)
    return 0
  })
}
