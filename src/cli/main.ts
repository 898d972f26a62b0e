/** The commands. Each gives the exit code; what an operator did wrong is one sentence on standard error. */
import { ConfigError } from '../config/config.ts'
import { ServiceError } from '../errors.ts'
import { ListenError } from '../http/server.ts'
import { release } from '../release.ts'
import { StoreStartError } from '../store/start-error.ts'
import { UsageError } from './usage-error.ts'

const help = `Troupe ${release}: an actor service that speaks the ActingWeb protocol

Usage
  troupe dev <module>      runs an application for development: SQLite under ./data, test endpoints, a key made for you
  troupe serve <module>    runs an application for production: needs BASE_URL (https) and TROUPE_SECRET_KEYS
  troupe doctor [deep]     says what this machine and these settings would lead to; reads every value if asked
  troupe keys new          prints a new key for TROUPE_SECRET_KEYS
  troupe keys rotate       encrypts every stored secret again with the first key
  troupe redrive           sends again what could not be told to peers; [actor [peer [subscription]]] narrows it
  troupe --help, --version

<module> exports an application by default: export default troupe({ … })
Settings come from the environment; docs/configuration.md lists them all.
`

/** Each is loaded when it is the one: help needs no database driver. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  dev: async (args) => (await import('./run.ts')).run('development', args),
  serve: async (args) => (await import('./run.ts')).run('production', args),
  doctor: async (args) => (await import('./doctor.ts')).doctor(args),
  keys: async (args) => (await import('./keys.ts')).keys(args),
  redrive: async (args) => (await import('./redrive.ts')).redrive(args),
}

export async function main(args: readonly string[]): Promise<number> {
  try {
    const [command, ...rest] = args
    if (command === undefined || ['help', '--help', '-h'].includes(command)) return print(help)
    if (['version', '--version', '-v'].includes(command)) return print(`${release}\n`)
    const found = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (found === undefined)
      throw new UsageError(`There is no command ${JSON.stringify(command)}; troupe --help names them.`)
    const option = rest.find((word) => word.startsWith('-'))
    if (option !== undefined)
      throw new UsageError(`troupe ${command} takes no option ${option}; settings come from the environment.`)
    return await found(rest)
  } catch (error) {
    return fail(error)
  }
}

function print(text: string): number {
  process.stdout.write(text)
  return 0
}

/** What the operator can mend is a sentence; anything else is a fault of ours and keeps its stack. */
function fail(error: unknown): number {
  const isForOperator =
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof ListenError ||
    error instanceof StoreStartError
  if (error instanceof ServiceError) {
    process.stderr.write(`${error.detail.reason ?? error.message}.\n`)
    return 1
  }
  process.stderr.write(
    `${isForOperator ? error.message : error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`,
  )
  return 1
}
