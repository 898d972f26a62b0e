/**
 * `npm run check`: checks types, rules, the format, the prose and the spelling. The checks run at the same time, and each
 * one prints its findings when it ends. The longest are first. The results for unchanged files stay in
 * `node_modules/.cache`, so the next run checks what changed.
 */
import { exec } from 'node:child_process'
import { commandOptions } from './command-options.ts'

commandOptions({
  command: 'npm run check',
  about: 'Checks types, rules, the format, the prose and the spelling.',
  options: {},
})

const checks = [
  'npm run -s spelling',
  'oxlint',
  'tsc --noEmit --incremental --tsBuildInfoFile node_modules/.cache/check.tsbuildinfo',
  'npm run -s patterns',
  'npm run -s prose',
  'tsc -p examples/household/page --incremental --tsBuildInfoFile node_modules/.cache/check-page.tsbuildinfo',
  'biome format .',
]

const root = new URL('..', import.meta.url)

/** Resolves with whether the check found nothing. npm has put the programs of the packages into the path. */
function passes(command: string): Promise<boolean> {
  return new Promise((resolve) => {
    exec(command, { cwd: root, maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) => {
      if (error !== null) console.log(`✖ ${command}\n${stdout}${stderr}`)
      resolve(error === null)
    })
  })
}

const results = await Promise.all(checks.map(passes))
if (results.includes(false)) process.exitCode = 1
