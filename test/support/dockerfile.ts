/** Runs the steps of a Dockerfile without a container: each stage is a folder, in which its absolute paths begin. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join, matchesGlob, relative } from 'node:path'

export interface Image {
  /** The folder that is the root of the image. */
  readonly root: string
  readonly workdir: string
  readonly env: Readonly<Record<string, string>>
  readonly user: string
  readonly command: readonly string[]
  readonly healthCheck: readonly string[]
  readonly stopSignal: string
}

type Draft = { -readonly [K in keyof Image]: Image[K] }

/** @param options.env of the steps, such as the cache of npm. `node` and `npm` are those of this process. */
export function buildImage(
  context: string,
  { folder, env }: { readonly folder: string; readonly env: NodeJS.ProcessEnv },
): Image {
  const stages = new Map<string, Draft>()
  let image: Draft | undefined
  const steps = readFileSync(join(context, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
    .filter((line) => line.trim() !== '')
  for (const step of steps) {
    const [, name = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(step) ?? []
    if (name === 'FROM') {
      const [, stage = String(stages.size)] = / AS (\w+)$/.exec(rest) ?? []
      image = emptyImage(join(folder, stage))
      stages.set(stage, image)
      continue
    }
    assert.ok(image !== undefined, 'The first step is FROM')
    const at = image
    if (name === 'WORKDIR') {
      at.workdir = rest
      mkdirSync(join(at.root, rest), { recursive: true })
    } else if (name === 'COPY') copy(rest, at, stages, context)
    else if (name === 'RUN') run(rest, at, env)
    else if (name === 'ENV') at.env = { ...at.env, ...variables(rest) }
    else if (name === 'USER') at.user = rest
    else if (name === 'STOPSIGNAL') at.stopSignal = rest
    else if (name === 'HEALTHCHECK') at.healthCheck = list(/CMD (.*)$/.exec(rest)?.[1] ?? '')
    else if (name === 'CMD') at.command = list(rest)
    else assert.ok(['VOLUME', 'EXPOSE'].includes(name), `Unknown step: ${step}`)
  }
  assert.ok(image !== undefined)
  return image
}

function emptyImage(root: string): Draft {
  mkdirSync(root, { recursive: true })
  return { root, workdir: '/', env: {}, user: '0', command: [], healthCheck: [], stopSignal: 'SIGTERM' }
}

function list(text: string): string[] {
  return JSON.parse(text) as string[]
}

function variables(text: string): Record<string, string> {
  return Object.fromEntries(text.split(' ').map((pair) => pair.split('=', 2) as [string, string]))
}

function copy(rest: string, image: Draft, stages: ReadonlyMap<string, Draft>, context: string): void {
  const words = rest.split(' ')
  const from = words[0]?.startsWith('--from=') === true ? words.shift()?.slice('--from='.length) : undefined
  const target = words.pop() ?? ''
  const sourceRoot = from === undefined ? context : (stages.get(from)?.root ?? '')
  const isLeftOut = from === undefined ? ignoredIn(context) : () => false
  for (const source of words) {
    const path = join(sourceRoot, source)
    assert.ok(existsSync(path), `COPY finds no ${source}`)
    // A target that ends with a slash, or with several sources, is a folder.
    const isFolder = target.endsWith('/') || words.length > 1
    const place = join(image.root, image.workdir, target, isFolder ? source : '')
    mkdirSync(dirname(place), { recursive: true })
    cpSync(path, place, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (one) => !isLeftOut(relative(context, one)),
    })
  }
}

/** The patterns of `.dockerignore` with `**` that a project has. */
function ignoredIn(context: string): (path: string) => boolean {
  const patterns = readFileSync(join(context, '.dockerignore'), 'utf8').split('\n').filter(Boolean)
  return (path) => patterns.some((pattern) => matchesGlob(path, pattern.replace(/\/$/, '')))
}

function run(command: string, image: Draft, env: NodeJS.ProcessEnv): void {
  const inRoot = command.replaceAll(/(?<= )\/(?=\w)/g, `${image.root}/`)
  const { status, stdout, stderr } = spawnSync('sh', ['-c', inRoot], {
    cwd: join(image.root, image.workdir),
    env: { ...env, ...image.env },
    encoding: 'utf8',
  })
  assert.equal(status, 0, `RUN ${command}\n${stdout}\n${stderr}`)
}
