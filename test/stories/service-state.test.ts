/* cspell:ignore Prozess gibt kein Lebenszeichen */
/** The state of the whole service for operators: its processes, its space, its backups and its mail. */
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { describe, it } from 'node:test'
import { Heartbeat } from '../../src/operator/processes.ts'
import { serviceState, type ServiceStateDeps } from '../../src/operator/service-state.ts'
import { forEachService, type StartOptions, type TestService } from '../support/service.ts'
import { sharedProvider, signIn, signInAt, TestBrowser } from '../support/sign-in.ts'
import { until } from '../support/until.ts'

const shareOfProvider = sharedProvider()
const hour = 3_600_000

forEachService((start) => {
  /** Settings of production without a fault. */
  const sound: ServiceStateDeps['config'] = {
    mode: 'production',
    host: 'localhost',
    port: 8080,
    trustedProxies: 1,
    backups: '/srv/backups',
    backupsEveryHours: 24,
    metricsToken: 'secret',
  }

  async function stateOf(
    service: TestService,
    config: Partial<ServiceStateDeps['config']> = {},
    facts: { readonly baseUrl?: string; readonly backupAge?: number | null } = {},
  ) {
    const { store } = await service.app.running()
    const { baseUrl = 'https://notes.example.com', backupAge = hour } = facts
    const newestBackup = async () => (backupAge === null ? null : store.now() - backupAge)
    return serviceState({ store, baseUrl, config: { ...sound, ...config }, newestBackup })
  }

  async function insertProcess(service: TestService, host: string, release: string, age: number): Promise<void> {
    const { store } = await service.app.running()
    await store.write((tx) =>
      tx.run(
        'INSERT INTO process (id, release, host, started_at, seen_at) VALUES ($1, $2, $3, 1, $4)',
        `${host} ${release}`,
        release,
        host,
        store.now() - age,
      ),
    )
  }

  async function open(options: StartOptions = {}): Promise<{ service: TestService; operator: TestBrowser }> {
    const provider = await shareOfProvider()
    const service = await start({ admins: ['ada@example.com'], ...signInAt(provider), ...options })
    const operator = new TestBrowser(service)
    await signIn(operator, provider, 'ada')
    return { service, operator }
  }

  describe('the state of the service', () => {
    it('has no finding when the settings are those of a sound deployment', async () => {
      const service = await start()
      await insertProcess(service, 'one', '0.2.0', 1000)
      await insertProcess(service, 'two', '0.2.0', 29_000)
      assert.deepEqual(
        (await stateOf(service)).findings.filter(({ kind }) => kind !== 'fullDisk'),
        [],
      )
    })

    const settings = [
      ['an address without encryption', {}, { baseUrl: 'http://notes.example.com' }, { kind: 'plainHttp' }],
      ['a port on every network', { host: '0.0.0.0' }, {}, { kind: 'everyAddress' }],
      ['backups that are not scheduled', { backups: null }, {}, { kind: 'noBackups' }],
      ['metrics that are closed', { metricsToken: null }, {}, { kind: 'closedMetrics' }],
      [
        'a backup that is older than two intervals',
        {},
        { backupAge: 49 * hour },
        { kind: 'lateBackup', everyHours: 24 },
      ],
      ['backups of which none is complete', {}, { backupAge: null }, { kind: 'lateBackup', everyHours: 24 }],
    ] as const
    for (const [what, config, facts, expected] of settings)
      it(`names ${what}`, async () => {
        const { findings } = await stateOf(await start(), config, facts)
        assert.deepEqual(
          findings.filter(({ kind }) => kind !== 'fullDisk'),
          [expected],
        )
      })

    it('names settings in production only', async () => {
      const { findings } = await stateOf(await start(), { mode: 'development', host: '0.0.0.0', metricsToken: null })
      assert.deepEqual(
        findings.filter(({ kind }) => kind !== 'fullDisk'),
        [],
      )
    })

    it('names a process without a sign of life for more than 90 seconds, and processes of several releases', async () => {
      const service = await start()
      await insertProcess(service, 'one', '0.2.0', 89_000)
      await insertProcess(service, 'two', '0.3.0', 0)
      await insertProcess(service, 'three', '0.1.0', 91_000)
      const { findings, processes } = await stateOf(service)
      assert.deepEqual(
        findings.filter(({ kind }) => kind !== 'fullDisk'),
        [
          { kind: 'silentProcess', hosts: ['three'] },
          { kind: 'severalReleases', releases: ['0.3.0', '0.2.0'] },
        ],
      )
      assert.deepEqual(
        processes.map(({ host, isSilent }) => [host, isSilent]),
        [
          ['two', false],
          ['one', false],
          ['three', true],
        ],
      )
    })

    it('counts waiting messages to people, and names one that waits for more than 15 minutes', async () => {
      const service = await start()
      const actor = await service.createActor()
      const { store } = await service.app.running()
      const wait = (id: string, age: number) =>
        store.write((tx) =>
          tx.run(
            `INSERT INTO job (actor_id, kind, id, last, due_at, created_at) VALUES ($1, 'mail', $2, 1, $3, $4)`,
            actor.id,
            id,
            store.now() + hour,
            store.now() - age,
          ),
        )
      await wait('young', 14 * 60_000)
      const before = await stateOf(service)
      assert.deepEqual(before.work, [{ kind: 'mail', due: 1, failed: 0 }])
      assert.deepEqual(
        before.findings.filter(({ kind }) => kind === 'waitingMail'),
        [],
      )
      await wait('old', 16 * 60_000)
      const { work, findings } = await stateOf(service)
      assert.deepEqual(work, [{ kind: 'mail', due: 2, failed: 0 }])
      assert.equal(findings.filter(({ kind }) => kind === 'waitingMail').length, 1)
    })
  })

  describe('the sign of life of a process', () => {
    it('is a row that an orderly end deletes', async () => {
      const service = await start()
      const { store, parts } = await service.app.running()
      const rows = () => store.read((q) => q.all<{ host: string }>('SELECT host FROM process'))
      const heartbeat = new Heartbeat(parts)
      heartbeat.wake()
      await until(async () => (await rows()).length === 1)
      assert.equal((await rows())[0]?.host, hostname())
      await heartbeat.stop()
      assert.deepEqual(await rows(), [])
    })

    it('deletes the rows of processes that were killed a day before', async () => {
      const service = await start()
      const { store, parts } = await service.app.running()
      await insertProcess(service, 'old', '0.1.0', 24 * hour + 1000)
      await insertProcess(service, 'young', '0.1.0', 23 * hour)
      const heartbeat = new Heartbeat(parts)
      heartbeat.wake()
      const hosts = async () =>
        (await store.read((q) => q.all<{ host: string }>('SELECT host FROM process'))).map(({ host }) => host)
      await until(async () => (await hosts()).includes(hostname()))
      assert.deepEqual((await hosts()).toSorted(), ['young', hostname()].toSorted())
      await heartbeat.stop()
    })
  })

  describe('the status page of operators', () => {
    it('shows the process that listens, with its release', async () => {
      const { service, operator } = await open({ listen: true })
      const { store } = await service.app.running()
      const rows = () => store.read((q) => q.all<{ release: string }>('SELECT release FROM process'))
      await until(async () => (await rows()).length === 1)
      const text = await (await operator.get('/admin')).text()
      assert.match(text, /<h2>Processes<\/h2>/)
      assert.match(text, /<td>0\.\d+\.\d+(?: \([0-9a-f]{8}\))?<\/td>/)
    })

    it('shows the space, the last backup and the findings in words', async () => {
      const { service, operator } = await open()
      await insertProcess(service, 'killed <machine>', '0.1.9', 91_000)
      const text = await (await operator.get('/admin')).text()
      assert.match(text, /<dt>Last backup<\/dt><dd>Not scheduled<\/dd>/)
      assert.match(text, /<li>A process gives no sign of life: killed &lt;machine&gt;\. It was killed, or/)
      assert.match(text, /<th scope="row">killed &lt;machine&gt;<\/th><td>0\.1\.9<\/td>/)
      const german = await (await operator.get('/admin', { 'accept-language': 'de' })).text()
      assert.match(german, /Ein Prozess gibt kein Lebenszeichen: killed &lt;machine&gt;/)
    })
  })
})
