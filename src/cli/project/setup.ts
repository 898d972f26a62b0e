/** `troupe setup`: writes the settings of a deployment with generated secrets, and checks them as a start does. */
import { open } from 'node:fs/promises'
import { createInterface, type Interface } from 'node:readline/promises'
import { Problems } from '../../config/config.ts'
import type { Environment } from '../../config/env.ts'
import { providerVariables } from '../../config/provider-options.ts'
import { allOptions, readConfig } from '../../features/config.ts'
import { keyRingOf } from '../../open-runtime.ts'
import { generateKey } from '../../secret/key-ring.ts'
import { randomToken } from '../../secret/random.ts'
import { configuredProviders } from '../../sign-in/configured.ts'
import { requireUsableSignIns } from '../../sign-in/own/usable-sign-ins.ts'
import { commandArgs, type Options } from '../command-args.ts'
import { print, printError } from '../output.ts'
import { UsageError } from '../usage-error.ts'

const flags = {
  address: 'string',
  database: 'string',
  files: 'string',
  'sign-in': 'string',
  smtp: 'string',
  'mail-from': 'string',
} as const

type Flag = keyof typeof flags
type Given = Options<typeof flags>

interface Question {
  readonly flag: Flag
  readonly variable: string
  readonly text: string
  /** The answer of an empty line. Empty: the setting is left out. */
  readonly byDefault: string
  /** @throws Error whose message completes "<NAME> …". */
  readonly parse: (text: string) => unknown
  readonly isRequired?: boolean
  /** Whether the question has a sense after the answers before it. Default: always. */
  readonly isOpen?: (answers: Answers) => boolean
}

type Answers = ReadonlyMap<string, string>

const questions: readonly Question[] = [
  {
    flag: 'address',
    variable: allOptions.baseUrl.env,
    text: 'Public https address of the service, such as https://notes.example.com',
    byDefault: '',
    isRequired: true,
    parse: (text) => {
      allOptions.baseUrl.parse(text)
      if (!text.startsWith('https:')) throw new Error('must begin with https')
    },
  },
  {
    flag: 'database',
    variable: allOptions.database.env,
    text: 'Database: sqlite:<file> or postgres://<user>:<password>@<host>/<database>',
    byDefault: 'sqlite:/var/lib/troupe/troupe.db',
    parse: allOptions.database.parse,
  },
  {
    flag: 'files',
    variable: allOptions.files.env,
    text: 'Files of actors: a folder, or s3://<bucket>/<prefix>?endpoint=<URL>&region=<region>; empty for no files',
    byDefault: '',
    parse: allOptions.files.parse,
    // With SQLite, files are next to the database.
    isOpen: (answers) => answers.get(allOptions.database.env)?.startsWith('sqlite:') !== true,
  },
  {
    flag: 'sign-in',
    variable: providerVariables.list,
    text: 'Sign-in: names separated by commas, such as passkey,email,google,github',
    byDefault: 'passkey',
    parse: (text) => providerVariables.names({ [providerVariables.list]: text }),
  },
  {
    flag: 'smtp',
    variable: allOptions.smtpUrl.env,
    text: 'Mail server: smtps://<user>:<password>@<host>; empty for no mail',
    byDefault: '',
    parse: allOptions.smtpUrl.parse,
  },
  {
    flag: 'mail-from',
    variable: allOptions.mailFrom.env,
    text: 'Address of the sender of mail',
    byDefault: '',
    isRequired: true,
    parse: allOptions.mailFrom.parse,
    isOpen: (answers) => answers.has(allOptions.smtpUrl.env),
  },
]

/** Asks a person. Null: the command runs without a terminal. */
export type Ask = ((question: string) => Promise<string>) | null

export async function setup(args: readonly string[]): Promise<number> {
  const { words, options } = commandArgs('troupe setup', args, flags)
  const [file, ...more] = words
  if (file === undefined || more.length > 0)
    throw new UsageError('Name the file for the settings: troupe setup troupe.env')
  const terminal = process.stdin.isTTY ? createInterface({ input: process.stdin, output: process.stdout }) : null
  try {
    const answers = await answersOf(options, askAt(terminal))
    warnOfPasswords(options)
    return await writeSettings(file, answers)
  } finally {
    terminal?.close()
  }
}

function warnOfPasswords(given: Given): void {
  for (const flag of ['database', 'smtp'] as const)
    if ((URL.parse(given[flag] ?? '')?.password ?? '') !== '')
      printError(
        `Other users of this machine can see the password in --${flag} in the list of processes. Without the option, the command asks for it.`,
      )
}

function askAt(terminal: Interface | null): Ask {
  return terminal === null ? null : async (question) => terminal.question(question)
}

/**
 * Returns the settings by their variables. Flags answer questions, and a person answers the others.
 *
 * @throws UsageError for an invalid flag, and for a required answer that no one can give.
 */
export async function answersOf(given: Given, ask: Ask): Promise<Answers> {
  const answers = new Map<string, string>()
  for (const question of questions) {
    const { flag, variable, byDefault, isOpen } = question
    const flagged = given[flag]
    if (flagged === undefined && isOpen?.(answers) === false) continue
    const answer = flagged ?? (ask === null ? byDefault : await answerTo(question, ask))
    const problem = problemOf(question, answer)
    if (problem !== null) throw new UsageError(`Cannot set the service up: --${flag} ${problem}.`)
    if (answer !== '') answers.set(variable, answer)
  }
  return answers
}

/** Asks until the answer is valid. */
async function answerTo(question: Question, ask: NonNullable<Ask>): Promise<string> {
  const { text, byDefault } = question
  for (;;) {
    const answer = (await ask(`${text}${byDefault === '' ? '' : ` [${byDefault}]`}: `)).trim() || byDefault
    const problem = problemOf(question, answer)
    if (problem === null) return answer
    printError(`The answer ${problem}.`)
  }
}

/** Completes "The answer …". Null: the answer is valid. */
function problemOf({ isRequired = false, parse }: Question, answer: string): string | null {
  if (answer === '') return isRequired ? 'is required' : null
  // systemd, Docker, Node.js and shells read these characters of an env file differently.
  if (/[\s"'`\\#$]/.test(answer))
    return 'must not contain spaces, quotes, backslashes, # or $: percent-encode them in a URL'
  try {
    parse(answer)
    return null
  } catch (error) {
    return (error as Error).message.replace(/\.$/, '')
  }
}

/** Writes a new file, which only its owner may read. Returns the exit code: 1 when settings are missing. */
async function writeSettings(file: string, answers: Answers): Promise<number> {
  const settings = new Map([
    ...answers,
    // The port to which the proxies of examples/deploy forward.
    [allOptions.port.env, '8080'],
    [allOptions.trustedProxies.env, '1'],
    [allOptions.secretKeys.env, generateKey()],
    [allOptions.metricsToken.env, randomToken(32)],
  ])
  const target = await open(file, 'wx', 0o600).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException
    throw new UsageError(
      code === 'EEXIST'
        ? `Cannot set the service up: ${file} exists, and may have the only copy of the keys. Choose another file.`
        : `Cannot set the service up: ${file} cannot be written (${code ?? message}).`,
    )
  })
  try {
    await target.writeFile(`${comment}${[...settings].map(([name, value]) => `${name}=${value}\n`).join('')}`)
    await target.sync()
  } finally {
    await target.close()
  }
  print(`The settings are in ${file}, which only you may read. Keep a copy of its keys apart from the backups.`)
  const missing = await problemsIn(Object.fromEntries(settings))
  if (missing.length === 0) {
    print(`Next: node --env-file=${file} node_modules/troupe/bin/troupe.js serve app.ts`)
    print('The first start prints a link. Open it and sign in to become the operator of the service.')
    return 0
  }
  print(`Add to ${file} before the service starts:`)
  for (const problem of missing) print(`- ${problem}`)
  return 1
}

const comment = `# The settings of the service (docs/configuration.md lists all). A proxy with https is in front of it.
`

/** Returns what a start with these settings would refuse, as far as they do not depend on the application. */
async function problemsIn(env: Environment): Promise<readonly string[]> {
  const problems = new Problems()
  const config = readConfig({}, env, problems)
  problems.collect(() => configuredProviders([], env, config), null)
  const names = problems.collect(() => providerVariables.names(env), null) ?? []
  const plans = names.map((name) => ({ name }))
  const baseUrl = config.baseUrl ?? 'http://localhost'
  // The application is not loaded. It may send the mails of a sign-in itself.
  const registry = { eventHandlers: () => [] }
  const sendsMail = config.smtpUrl !== null
  problems.collect(() => requireUsableSignIns({ config, plans, registry, baseUrl, sendsMail }), undefined)
  if (config.secretKeys !== null) await problems.collectLater(async () => keyRingOf(config), null)
  return problems.all
}
