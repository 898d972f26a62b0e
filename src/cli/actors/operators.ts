/** `troupe operators`: lists, adds and removes the operators whom the database names. */
import { commandArgs } from '../command-args.ts'
import { withExistingStore } from '../existing-store.ts'
import { print, printJson, timeText } from '../output.ts'
import { Operators, parseOperator } from '../../sign-in/operators/operators.ts'
import { UsageError } from '../usage-error.ts'

export async function operators(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe operators', args, { json: 'boolean' })
  const [act = '', text, ...more] = words
  const isComplete = act === 'ls' ? text === undefined : (act === 'add' || act === 'remove') && text !== undefined
  if (!isComplete || more.length > 0)
    throw new UsageError('Cannot run troupe operators: expected ls, add <name> or remove <name>.')
  const name = text === undefined ? null : parseOperator(text)
  if (act === 'add' && name === null)
    throw new UsageError(
      `Cannot add the operator ${JSON.stringify(text)}: expected a verified address, a provider id such as google:1234, or the fingerprint of a passkey.`,
    )
  return withExistingStore(async (store, config) => {
    // The command finds no session, so it needs no accounts.
    const all = new Operators(config.admins, { store, accounts: { find: async () => null } })
    if (act === 'add') await all.add(name ?? '', 'command')
    if (act === 'remove') await all.remove(name ?? text ?? '')
    await list(all, options.json === true)
    return 0
  })
}

async function list(all: Operators, isJson: boolean): Promise<void> {
  const { configured } = all
  const stored = await all.stored()
  if (isJson) {
    const shown = stored.map(({ name, addedAt, addedBy }) => ({ name, added: timeText(addedAt), added_by: addedBy }))
    printJson({ configured, stored: shown })
    return
  }
  for (const name of configured) print(`${name}  TROUPE_ADMINS`)
  for (const { name, addedAt, addedBy } of stored) print(`${name}  added ${timeText(addedAt)} by ${addedBy}`)
  if (configured.length + stored.length === 0)
    print('No operators: the next start of troupe serve in production prints a link for the first one.')
}
