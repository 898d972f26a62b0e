/** Runs the official conformance suite against a service, and reads its results. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { startSubject } from './subject.ts'

export const revisions = ['2025-11-25', '2026-07-28'] as const
export type SuiteRevision = (typeof revisions)[number]

interface Check {
  readonly id: string
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  readonly errorMessage?: string
}

export interface ScenarioResult {
  readonly scenario: string
  readonly checks: readonly Check[]
}

const suite = fileURLToPath(import.meta.resolve('@modelcontextprotocol/conformance/package.json'))
const program = join(suite, '..', 'dist', 'index.js')

/** Runs every scenario that the revision requires, and the scenarios that it does not score. */
export async function runSuite(databaseUrl: string, revision: SuiteRevision): Promise<ScenarioResult[]> {
  const subject = await startSubject(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'conformance-'))
  try {
    await run(['server', '--url', subject.url, '--requirements', revision, '--output-dir', folder])
    return await resultsIn(folder)
  } finally {
    await subject.close()
    await rm(folder, { recursive: true, force: true })
  }
}

/** Ignores the exit code, because the results contain the same information. */
function run(args: readonly string[]): Promise<void> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], { timeout: 240_000, maxBuffer: 64 * 1024 * 1024 }, () => resolve())
  })
}

async function resultsIn(folder: string): Promise<ScenarioResult[]> {
  const names = (await readdir(folder)).toSorted()
  return Promise.all(
    names.map(async (name) => ({
      scenario: name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, ''),
      checks: JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Check[],
    })),
  )
}

/** The failures and warnings, one line each. */
export function failuresIn(results: readonly ScenarioResult[]): string[] {
  return results.flatMap(({ scenario, checks }) =>
    checks
      .filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
      .map(({ id, status, errorMessage }) => `${scenario}: ${status} ${id} ${errorMessage ?? ''}`.trim()),
  )
}

/** The text of `docs/conformance.md`. */
export function report(all: ReadonlyMap<SuiteRevision, readonly ScenarioResult[]>, version: string): string {
  const tables = [...all].map(([revision, results]) => {
    const passed = results.flatMap(({ checks }) => checks).filter(({ status }) => status === 'SUCCESS').length
    const failed = failuresIn(results).length
    const rows = results.map(({ scenario, checks }) => {
      const count = (status: Check['status']): number => checks.filter((check) => check.status === status).length
      const skipped = count('SKIPPED') + count('INFO')
      return `| ${scenario} | ${count('SUCCESS')} | ${count('FAILURE') + count('WARNING')} | ${skipped} |`
    })
    return `## ${revision}

${results.length} scenarios, ${passed} checks passed, ${failed} failed or warned.

| Scenario | Passed | Failed or warned | Skipped |
|---|---|---|---|
${rows.join('\n')}
`
  })
  return `# Conformance

This page has the results of the official conformance suite of the Model Context Protocol (\`@modelcontextprotocol/conformance\` ${version}). The suite runs with \`--requirements\` for both revisions, including the scenarios that are not scored. No scenario is listed as an expected failure. \`npm run conformance\` writes this page. Every test run repeats the suite and compares the results with this page.

The suite cannot send an access token, so it connects through a proxy that adds one. The service behind the proxy is an ordinary application with the tools, prompts and resources that the suite expects (\`test/conformance\` in the repository). All protections of the service stay enabled.

${tables.join('\n')}`
}
