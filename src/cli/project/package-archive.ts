/** Puts the archive of this package into a project, which then depends on no name in a registry. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { processEnvironment } from '../../config/env.ts'
import { codeFolder } from '../../release.ts'
import { printable } from '../output.ts'
import { UsageError } from '../usage-error.ts'

/**
 * Copies the archive into `folder`, which is created. Returns its name.
 *
 * @param archive the path of an archive that `npm run package` made. Default: npm packs this package.
 * @throws UsageError when the archive does not exist, or npm cannot make one. Then nothing is created.
 */
export async function copyPackage(folder: string, archive?: string): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), 'troupe-new-'))
  try {
    const path = archive === undefined ? await packInto(temporary) : checked(archive)
    await mkdir(folder, { recursive: true })
    await copyFile(path, join(folder, basename(path)))
    return basename(path)
  } finally {
    await rm(temporary, { recursive: true })
  }
}

function checked(archive: string): string {
  if (/^troupe-[\w.+-]+\.tgz$/.test(basename(archive)) && existsSync(archive)) return archive
  throw new UsageError(
    `Cannot make a project: ${printable(archive)} is not an archive of Troupe, such as troupe-1.0.0.tgz. \`npm run package\` makes one.`,
  )
}

async function packInto(folder: string): Promise<string> {
  const root = fileURLToPath(new URL('../', codeFolder))
  // A checkout has no built code, or that of an earlier state.
  if (codeFolder.pathname.endsWith('/src/')) run(process.execPath, [join(root, 'tools', 'build.ts')], root)
  const pack = ['pack', root, '--ignore-scripts', '--pack-destination', folder, '--silent']
  const npm = processEnvironment()['npm_execpath'] ?? ''
  // npm and npx name their program. Another package manager does not pack in the same way.
  if (/np[mx]-cli\.js$/.test(npm)) run(process.execPath, [npm.replace(/npx-cli\.js$/, 'npm-cli.js'), ...pack], folder)
  else run('npm', pack, folder)
  const [made] = await readdir(folder)
  if (made === undefined) throw new UsageError('Cannot make a project: npm made no archive of Troupe.')
  return join(folder, made)
}

function run(program: string, args: readonly string[], cwd: string): void {
  const shell = process.platform === 'win32' && program === 'npm'
  const { status, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8', shell })
  if (status === 0) return
  const why = error?.message ?? stderr.trim().split('\n').at(-1) ?? ''
  throw new UsageError(`Cannot make a project: Troupe could not be packed (${printable(why)}).`)
}
