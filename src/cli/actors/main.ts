/** `troupe actors`: lists, shows, deletes and seeds the actors of a database. */
import { UsageError } from '../usage-error.ts'

const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  ls: async (args) => (await import('./list-actors.ts')).listActors(args),
  show: async (args) => (await import('./show-actor.ts')).showActor(args),
  export: async (args) => (await import('./archive-actor.ts')).exportActorByCommand(args),
  import: async (args) => (await import('./archive-actor.ts')).importActorByCommand(args),
  delete: async (args) => (await import('./delete-actor.ts')).deleteActorByCommand(args),
  'renew-passphrase': async (args) => (await import('./renew-passphrase.ts')).renewPassphrase(args),
  suspend: async (args) => (await import('./suspend-actor.ts')).actOnActor('suspend', args),
  resume: async (args) => (await import('./suspend-actor.ts')).actOnActor('resume', args),
  'sign-out': async (args) => (await import('./suspend-actor.ts')).actOnActor('sign-out', args),
  'sign-in-link': async (args) => (await import('./suspend-actor.ts')).signInLink(args),
  'reset-limits': async (args) => (await import('./suspend-actor.ts')).resetLimitsOfActor(args),
  seed: async (args) => (await import('./seed-actors.ts')).seedActors(args),
}

export async function actors(args: readonly string[]): Promise<number> {
  const [word = '', ...rest] = args
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command === undefined)
    throw new UsageError(
      'Cannot run troupe actors: expected ls, show, export, import, delete, renew-passphrase, suspend, resume, sign-out, sign-in-link, reset-limits or seed.',
    )
  return command(rest)
}
