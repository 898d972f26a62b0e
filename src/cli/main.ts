/** The command line. Each command returns its exit code; an operator's mistake prints one sentence to standard error. */
import { existsSync } from 'node:fs'
import { ConfigError } from '../config/config.ts'
import { processEnvironment } from '../config/env.ts'
import { ServiceError } from '../errors.ts'
import { ListenError } from '../http/edge/server.ts'
import { commit, release } from '../release.ts'
import { StoreStartError } from '../store/start-error.ts'
import { printError, printText } from './output.ts'
import { runDevelopment, runProduction } from './run.ts'
import { UsageError } from './usage-error.ts'

const help = `Troupe ${release}: an actor service that speaks the ActingWeb protocol

Usage
  troupe new <folder>      makes a project with an application, its tests and a Dockerfile
  troupe dev <module>      runs an application for development: SQLite under ./data, test endpoints, a generated key
  troupe serve <module>    runs an application for production: needs BASE_URL (https) and TROUPE_SECRET_KEYS
  troupe setup <file>      writes the settings of a deployment, with generated keys, and checks them
  troupe doctor [deep]     checks this machine and these settings; deep also reads every stored value
  troupe doctor address    checks that the public address leads to the running service
  troupe doctor https://…  attacks your own service from outside, and reports what is open
  troupe keys new          prints a new key for TROUPE_SECRET_KEYS
  troupe keys rotate       encrypts every stored secret again with the first key; keys forget goes on without a lost one
  troupe backup <folder>   copies the database and the files of a running service; --verify checks a copy
  troupe restore <folder>  creates the database and the files from such a copy
  troupe restored          says that the database is a copy; --revoke-after ends credentials of a restored database
  troupe scale init        distributes the tables over a Citus cluster; scale plan lists the missing steps
  troupe migrate-data <module>   upgrades stored values to the declared versions; plan counts them
  troupe actors ls         lists the actors; show, export, import, delete, suspend, resume and sign-out are for one actor
  troupe operators ls      lists the operators; add and remove change those whom the database names
  troupe import-actingweb  takes over a PostgreSQL database of the Python library ActingWeb 3.x
  troupe shadow            repeats reads at an old and a new service, and reports the differences of their answers
  troupe mail test <address>   sends one message with the configured SMTP server
  troupe connect <url>     gets tokens for your own actor at a service, with a code or a QR code for your browser
  troupe compact [full]    returns the space of deleted data to the file system
  troupe readdress         informs all peers that BASE_URL has changed; see troupe readdress --help
  troupe redrive           retries failed deliveries and background work; [actor [peer [subscription]]] limits them
  troupe --help, --version; troupe <command> --help explains one command

<module> exports an application by default: export default troupe({ … })
Settings come from the environment; docs/configuration.md lists them all.
`

const settings = 'Settings come from the environment; docs/configuration.md lists them all.\n'

/** The output of `troupe <command> --help`. */
const usage: Readonly<Record<string, string>> = {
  dev: `troupe dev <module> [--no-watch]

Runs an application for development, at http://localhost:3000 unless PORT is set. Data is stored in ./data, a key is
generated there at the first start, people sign in without a password, and errors are logged to standard error.
<module> is a file that exports an application by default, in JavaScript or TypeScript: troupe dev app.ts

When the module changes, or a file that it imports, the application is loaded again. The version before serves until the
new one is loaded, and keeps serving when the new one is broken. Data and sign-ins stay. With --no-watch, one process runs
the application and watches nothing.

${settings}`,
  serve: `troupe serve <module>

Runs an application for production. It needs
  BASE_URL             the public URL of the service: https://notes.example.com
  TROUPE_SECRET_KEYS   the encryption keys of stored secrets: troupe keys new
and usually
  TROUPE_PROVIDERS     the identity providers, such as passkey,google; the application can declare them too
  DATABASE_URL         the database: PostgreSQL, or an SQLite file
troupe doctor checks whether everything is present.

While the service has no operator, each start prints a link to standard error. The person who opens it and signs in becomes the
first operator. The link works once, within 24 hours, until the next start. It needs the pages and a sign-in.

${settings}`,
  setup: `troupe setup <file> [--address <url>] [--database <url>] [--files <place>] [--sign-in <names>]
                    [--smtp <url>] [--mail-from <address>]

Writes the settings of a deployment to a new file that only you may read, such as troupe.env: the answers, an encryption key,
and a token for the metrics. It asks for what no option names. Without a terminal, only --address is required. The settings are
checked as a start checks them, and all that is missing is printed at once; the exit code is then 1. An existing file is never
replaced.
The file fits systemd (EnvironmentFile=) and Node.js (--env-file=), and one proxy that forwards to the port 8080 of this machine.
For Docker (--env-file), give --database sqlite:/data/troupe.db, which is in the volume of the image, and publish the port to the
proxy alone: -p 127.0.0.1:8080:8080.
Other users of this machine can see options in the list of processes. Let the command ask for a URL with a password.
`,
  doctor: `troupe doctor [deep]
troupe doctor address
troupe doctor https://notes.example.com [--actor <id>] [--json]

Checks this machine and these settings, and reports what a start would lack. Without deep it changes nothing. With deep it also reads
every stored value, names damaged values and secrets that no configured key decrypts, and corrects what quotas count. With address it asks BASE_URL
whether it leads to the running service, as peers and browsers reach it; run it on the machine of the service.
With a URL it attacks your own service from outside: TLS, proxy, rate limits, cookies, other origins, open addresses and the
network behind it. It sends about 200 requests, creates nothing, and your address may be limited for a minute afterwards. With
--actor and DOCTOR_LOGIN=<creator>:<passphrase> it also tries relationships and the checks of features, with private addresses. Each
finding has a reason and a remedy. The exit code is 1 when there is a problem.
It checks the settings of troupe serve; for those of troupe dev run: TROUPE_MODE=development troupe doctor

${settings}`,
  keys: `troupe keys new       prints a new key for TROUPE_SECRET_KEYS
troupe keys rotate    encrypts every stored secret again with the first key of TROUPE_SECRET_KEYS
troupe keys forget [--yes] [--json]   lets the service start without keys that are lost

To change a key: put a new one before the old one, restart every process, rotate, and remove the old one.
When a key is lost, set a new one with another id and run forget: it lists what cannot be read without the lost key, and asks,
unless --yes is given. It deletes nothing: a key that is found later opens its secrets again.

${settings}`,
  backup: `troupe backup <folder> [--json]
troupe backup --verify <folder> [--json]

Copies the database of DATABASE_URL and the contents of its files to a new or empty folder that only you may read. The service
may run meanwhile: the copy is of one moment, and its files belong to it. Every file is read again and compared after it was
written. An interrupted run continues with the next one to the same folder. The encryption keys are not part of the copy.
With --verify, it checks a copy completely and changes nothing. The exit code is 1 when contents of files are missing.
TROUPE_BACKUPS makes the service do this at regular times.

${settings}`,
  restore: `troupe restore <folder> [--json]

Creates the database of DATABASE_URL from a copy that troupe backup made, and stores the contents of its files at TROUPE_FILES.
The database must not exist, or must be empty. Everything is compared with its checksum before the database exists. An interrupted
run continues with the next one. The next start of the service knows that its data is a copy.

${settings}`,
  restored: `troupe restored [--json]
troupe restored --revoke-after <time> [--dry-run] [--yes] [--json]

Says that the database of DATABASE_URL is a copy, so that a new incarnation of its data begins. Run it after a restore by other
tools, such as a snapshot of a disk or pg_restore, before the service starts. A copy of troupe backup knows that it is one.
With --revoke-after, it also ends every credential that was issued or changed after that time: sessions, tokens, API keys, apps,
clients, relationships, invitations, passkeys, recovery codes, accounts at other services, approvals, those of features, and
passphrases of new actors. It asks first, unless --yes is given. --dry-run only counts. <time> is 2026-11-28 or 2026-11-28T09:30:00Z.

${settings}`,
  scale: `troupe scale init [shards]    distributes the tables over the servers of a Citus cluster
troupe scale plan             lists the missing steps and changes nothing

The database is the one of DATABASE_URL, empty or with data, on the coordinator. Stop the service first. An interrupted run
continues with the next one. [shards] is the number of shards of each table, 32 by default.

${settings}`,
  'migrate-data': `troupe migrate-data <module>         upgrades stored values and items to the versions that the module declares
troupe migrate-data <module> plan    upgrades in memory only, counts, and changes nothing

The service may run meanwhile. Each batch is one short transaction of one actor. An interrupted run continues with the next
one. A value that cannot be upgraded stays as it is and is named; the exit code is then 1.

${settings}`,
  new: `troupe new <folder> [--archive <file>]

Makes a project in the folder: an application, its tests, a Dockerfile, the settings of TypeScript, and the archive of this
package in the folder vendor, because no registry has it. --archive names an archive that exists. A package.json of the folder
is kept, and gets the scripts and packages that are missing. Other files are never replaced.
`,
  connect: `troupe connect <url>

Shows a code and a QR code. Open the page in a browser, sign in, and allow the command line to act for your actor. Then the
tokens are printed as JSON to standard output, and nothing is stored. Everything else goes to standard error.
Disconnect it under Connected apps on your pages.
`,
  'import-actingweb': `troupe import-actingweb --database <url> [--schema <name>] [--companions <name>=<type>,…]
                         [--sign-in <creator>=<actor>,…] [--dry-run] [--json]

Takes over the actors of a PostgreSQL database of the Python library ActingWeb 3.x, with their ids, passphrases, relationships
and tokens, into the database of DATABASE_URL. Stop the Python service first. Its database is only read.
--schema names the schema of the tables, public by default. --companions names the types of the actors that actors created at
other services, as the application declares them. Of several actors with one creator, the one with an account gets the
sign-in, then the oldest one. --sign-in chooses another one. With --dry-run, it reads everything, reports, and writes nothing.
An interrupted run continues with the next one. The exit code is 1 when actors cannot come in.

${settings}`,
  shadow: `troupe shadow --against <old> [--to <new>] --requests <file> [--ignore <member>,…] [--json]
troupe shadow --against <old> [--to <new>] --listen <port> [--ignore <member>,…] [--json]

Sends the same reads to two services, such as https://old.example.com and a service with the imported data, which is
http://localhost:3000 by default. It compares status, media type, redirects and JSON, and reports the differences by route.
<file> has one request in each line: {"path": "/ada/properties", "headers": {"authorization": "…"}}. A HAR file works as well.
With --listen, it passes requests on to the old service at http://127.0.0.1:<port>, and compares the reads until it is stopped.
Only GET and HEAD are sent to the new service. --ignore names members of JSON objects that may differ.
The exit code is 1 when an answer differs or is missing.
`,
  mail: `troupe mail test <address>

Sends one message to the address with the server of TROUPE_SMTP_URL, at once and without the queue of the service, and prints
what the server answered. The exit code is 1 when the server did not accept the message.

${settings}`,
  compact: `troupe compact [full]

Returns the space of deleted data to the file system, while the service runs. An SQLite file is written again, which needs as
much free space as the file will have, and changes wait meanwhile. On PostgreSQL the tables are vacuumed; with full each
table is written again, and requests wait for it.

${settings}`,
  readdress: `troupe readdress <new base URL> [--dry-run]
troupe readdress <new base URL> --ask [--dry-run]

Informs the peers of all actors that BASE_URL of the service has changed. Let the new name lead to the service, start it with the
new BASE_URL and with TROUPE_FORMER_BASE_URLS naming the former one, and run the command with the same settings. Peers that can
follow the change take the new address. The others keep the former one, until --ask sends them a request from the new address,
which their owners approve. The service informs the peers, about 20 actors in a second, from at most five minutes later on.
An interrupted run continues with the next one. --dry-run only checks both addresses and counts. The exit code is 1 when actors
were left out because they are moving: run the command again later.

${settings}`,
  redrive: `troupe redrive [actor [peer [subscription]]]

Retries permanently failed deliveries to peers that are still stored: all of them, or those of one actor, of one of its
peers, or of one subscription. Without a peer, also failed events, alarms and messages of features, and continues their suspended
queues. Without an actor, also failed schedules.

${settings}`,
  operators: `troupe operators ls [--json]
troupe operators add <name> [--json]
troupe operators remove <name> [--json]

The operators may open the pages at /admin. TROUPE_ADMINS names operators in the settings. This command and the page
/admin/operators add and remove those in the database. <name> is a verified address, an id at a provider such as google:1234, or the fingerprint of a passkey, which
the page of passkeys shows (passkey:…). The last operator cannot be removed. A running service knows the change at once.

${settings}`,
  actors: `troupe actors ls [--limit <number>] [--after <place>] [--created-after <date>] [--json]
troupe actors ls --search <beginning> [--limit <number>] [--json]
troupe actors ls --sort size|activity [--limit <number>] [--json]
troupe actors show <actor or creator> [--json]
troupe actors export <actor> [--secrets] [--output <file>]
troupe actors import <file>
troupe actors import <file> --replace [--as <actor>] [--dry-run] [--yes]
troupe actors delete <actor> [module] [--yes] [--json]
troupe actors renew-passphrase <actor>
troupe actors suspend <actor> [--json]
troupe actors resume <actor> [--json]
troupe actors sign-out <actor> [--json]
troupe actors sign-in-link <actor> [--json]
troupe actors reset-limits <actor> [--sender <address>] [--json]
troupe actors seed <module> [file]

ls lists actors, oldest first, 50 unless --limit names another number. The last line names the place of the next page. With
--search, it finds them by the beginning of the creator. --sort size lists those that store most, and --sort activity those
with most of the newest recorded requests and changes, at most 1000. A count of sizes may be 15 minutes old, and is printed with
its time.
show prints when the actor was created and last used, the last use of its passphrase by a program, how much it stores, its relationships and sessions. It prints no
stored values.
export writes the archive of an actor: JSON Lines, to standard output or to a new file. With --secrets, it also has the
secrets of relationships and features, so that they work after an import. Keep such a file like a password.
import creates an actor from an archive, with the same id. The actor must not exist. - reads standard input.
import --replace replaces the content of the actor with this id: its properties, lists and files, and with an archive that has
secrets also its attributes and alarms. Its relationships, subscriptions and sign-ins stay, and its subscribers get a resync. The
actor answers with 503 meanwhile. It prints what changes and asks first, unless --yes is given. --dry-run changes nothing. --as
names another actor than that of the archive.
renew-passphrase replaces the passphrase of an actor and prints the new one. Sessions stay.
suspend refuses every request to an actor, also of its owner, who is signed out. Its data stays, and its deliveries wait until
resume. sign-out ends the sessions of the owner on all devices. The activity of the owner shows
suspend, resume, sign-out, sign-in-link and reset-limits.
sign-in-link prints a link with which an owner who is locked out signs in once, within an hour. It ends the earlier one.
reset-limits ends what failed sign-ins and too many requests have counted about an actor, and with --sender those of an IP
address.
delete deletes an actor with all its data, and notifies its peers. It asks first, unless --yes is given. With the module of
the application, its handlers receive the same events as when the owner deletes the actor.
seed runs seed.ts beside the module, or another file: export default async ({ app, actors }) => { … }

The database is the one of DATABASE_URL. The service may run meanwhile.

${settings}`,
}

/** Commands that read their own options. */
const readsOptions: ReadonlySet<string> = new Set([
  'actors',
  'backup',
  'dev',
  'doctor',
  'import-actingweb',
  'keys',
  'new',
  'operators',
  'readdress',
  'restore',
  'restored',
  'setup',
  'shadow',
])

/** Each command is loaded on demand, so that help loads no database driver. */
const commands: Readonly<Record<string, (args: readonly string[]) => Promise<number>>> = {
  dev: runDevelopment,
  serve: runProduction,
  setup: async (args) => (await import('./project/setup.ts')).setup(args),
  doctor: async (args) => (await import('./doctor.ts')).doctor(args),
  keys: async (args) => (await import('./keys.ts')).keys(args),
  backup: async (args) => (await import('./copies/backup.ts')).backup(args),
  restore: async (args) => (await import('./copies/backup.ts')).restore(args),
  restored: async (args) => (await import('./copies/restored.ts')).restored(args),
  scale: async (args) => (await import('./scale.ts')).scale(args),
  'migrate-data': async (args) => (await import('./migrate-data.ts')).migrateData(args),
  new: async (args) => (await import('./project/new.ts')).newProject(args),
  'import-actingweb': async (args) => (await import('./import-actingweb.ts')).importActingweb(args),
  shadow: async (args) => (await import('./shadow/shadow.ts')).shadow(args),
  connect: async (args) => (await import('./connect.ts')).connectCommandLine(args),
  mail: async (args) => (await import('./mail.ts')).mailCommand(args),
  compact: async (args) => (await import('./compact.ts')).compact(args),
  readdress: async (args) => (await import('./readdress.ts')).readdressCommand(args),
  redrive: async (args) => (await import('./redrive.ts')).redrive(args),
  operators: async (args) => (await import('./actors/operators.ts')).operators(args),
  actors: async (args) => (await import('./actors/main.ts')).actors(args),
}

export async function main(args: readonly string[]): Promise<number> {
  process.stdout.on('error', ignoreClosedPipe)
  try {
    const [command, ...rest] = args
    if (command === undefined || ['help', '--help', '-h'].includes(command)) return show(help)
    if (['version', '--version', '-v'].includes(command)) return show(`${release} (commit ${commit()})\n`)
    const found = Object.hasOwn(commands, command) ? commands[command] : undefined
    if (found === undefined)
      throw new UsageError(`Unknown command ${JSON.stringify(command)}: troupe --help lists the commands.`)
    if (rest.some((word) => word === '--help' || word === '-h'))
      return show(`${usage[command] ?? help}${await featureSettings(command, rest)}`)
    const option = rest.find((word) => word.startsWith('-'))
    if (option !== undefined && !readsOptions.has(command))
      throw new UsageError(`Unknown option ${option} of troupe ${command}: settings come from the environment.`)
    if (!withoutProject.has(command)) await loadProject()
    return await found(rest)
  } catch (error) {
    return fail(error)
  }
}

/** Commands that load their application themselves, or need none. */
const withoutProject: ReadonlySet<string> = new Set(['connect', 'dev', 'new', 'serve', 'setup', 'shadow'])

/** Loads the application that TROUPE_APP names, for its features. */
async function loadProject(file = processEnvironment()['TROUPE_APP'] ?? ''): Promise<void> {
  if (file !== '') await (await import('./load-application.ts')).loadApplication(file)
}

/** The settings of features that the application adds, for the help of a command. */
async function featureSettings(command: string, words: readonly string[]): Promise<string> {
  const named = command === 'dev' || command === 'serve' ? words.find((word) => !word.startsWith('-')) : undefined
  const file = named ?? processEnvironment()['TROUPE_APP'] ?? ''
  if (!existsSync(file)) return ''
  await loadProject(file)
  const { projectOptions } = await import('./project/known-project.ts')
  const lines = Object.values(projectOptions()).map(({ env, text, values }) => `  ${env}   ${text} (${values})\n`)
  return lines.length === 0 ? '' : `\nSettings of the features of the application:\n${lines.join('')}`
}

/** Lets a command finish its work when the reader of its output has ended, as `head` does. */
function ignoreClosedPipe(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EPIPE') throw error
}

function show(text: string): number {
  printText(text)
  return 0
}

/** Prints an error: one sentence when the operator can fix it, else with its stack because it is a bug. */
function fail(error: unknown): number {
  const isForOperator =
    error instanceof UsageError ||
    error instanceof ConfigError ||
    error instanceof ListenError ||
    error instanceof StoreStartError
  if (error instanceof ServiceError) {
    printError(`${error.detail.reason ?? error.message}.`)
    return 1
  }
  if (isForOperator) printText(`${error.message}\n`, process.stderr)
  else printText(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`, process.stderr)
  return 1
}
