/** `troupe doctor https://…`: attacks the operator's own deployment from outside, and reports what it found. */
import { ConfigError } from '../../config/config.ts'
import { parseActorId } from '../../actor/actor.ts'
import type { KeyRing } from '../../secret/key-ring.ts'
import { isPrivateWay } from '../private-way.ts'
import { addressProblem, connectionProblem } from '../public-address.ts'
import { counted, print, printable, printJson } from '../output.ts'
import { UsageError } from '../usage-error.ts'
import { exposureFindings } from './exposure.ts'
import type { Finding } from './finding.ts'
import { networkFindings, type OwnerLogin, type Unsent } from './internal-network.ts'
import { Probe } from './probe.ts'
import { proxyFindings } from './proxy.ts'
import { clockFindings, transportFindings } from './transport.ts'

export interface DeploymentCheck {
  /** The URL that the operator typed. */
  readonly address: string
  /** The actor whose owner tries relationships and what features add. */
  readonly actorId: string | undefined
  /** `<creator>:<passphrase>` of this actor. */
  readonly login: string | undefined
  /** The keys of the service, by which it proves that it is the one. Null: none are set. */
  readonly keyRing: KeyRing | null
  readonly isJson: boolean
}

const longestWaitMs = 10_000

/** Returns the exit code: 1 when there is a problem. @throws ConfigError when no service answers, UsageError. */
export async function checkDeployment(check: DeploymentCheck): Promise<number> {
  const url = URL.parse(check.address)
  if (url === null || url.search !== '' || url.hash !== '' || url.username !== '')
    throw new UsageError(
      `Cannot check ${printable(check.address)}: expected the URL of a service, as in https://notes.example.com.`,
    )
  const probe = new Probe(url.href.replace(/(?<!\/)\/+$/, ''))
  const findings = await deploymentFindings(probe, await ownerAt(url, probe, check))
  const problems = findings.filter(({ level }) => level === 'problem').length
  const warnings = findings.filter(({ level }) => level === 'warning').length
  if (check.isJson) printJson({ url: url.href, problems, warnings, findings })
  else {
    for (const finding of findings) printFinding(finding)
    print(
      `${counted(problems, 'problem')} and ${counted(warnings, 'warning')} in ${counted(findings.length, 'check')}.`,
    )
  }
  return problems === 0 ? 0 : 1
}

function ownerOf({ actorId, login }: DeploymentCheck): OwnerLogin | null {
  if (actorId === undefined) return null
  if (parseActorId(actorId) === null || login?.includes(':') !== true)
    throw new UsageError(
      'Cannot act as an owner: --actor needs the id of an actor, and DOCTOR_LOGIN its creator and passphrase, as in ada@example.com:….',
    )
  return { actorId, authorization: `Basic ${Buffer.from(login).toString('base64')}` }
}

/** The sign-in, or why it is not sent. It is sent only where others cannot read it, to the service that has the keys. */
async function ownerAt(url: URL, { url: address }: Probe, check: DeploymentCheck): Promise<OwnerLogin | Unsent | null> {
  const owner = ownerOf(check)
  if (owner === null) return null
  if (!isPrivateWay(url))
    return {
      why: 'The address is plain HTTP, so DOCTOR_LOGIN was not sent.',
      fix: 'Check the https address, or run this command on the machine of the service.',
    }
  if (check.keyRing === null)
    return {
      why: 'Without keys, this command cannot recognize the service, so DOCTOR_LOGIN was not sent.',
      fix: 'Set TROUPE_SECRET_KEYS to the keys of the service.',
    }
  const problem = await addressProblem(address, { keyRing: check.keyRing })
  return problem === null
    ? owner
    : {
        why: `The service is not proven, so DOCTOR_LOGIN was not sent. ${problem}`,
        fix: 'Check the address of the service.',
      }
}

/** @throws ConfigError when no service answers. */
export async function deploymentFindings(probe: Probe, owner: OwnerLogin | Unsent | null): Promise<Finding[]> {
  const findings: Finding[] = []
  try {
    findings.push(...(await transportFindings(probe)))
    findings.push(...(await clockFindings(probe)))
    findings.push(...(await exposureFindings(probe)))
    findings.push(...(await networkFindings(probe, owner)))
    // The last one, because it exhausts a limit of this sender.
    findings.push(...(await proxyFindings(probe)))
  } catch (error) {
    throw new ConfigError(`Cannot reach ${probe.url}: ${connectionProblem(error, new URL(probe.url), longestWaitMs)}`)
  }
  return findings
}

function printFinding({ check, level, reason, fix }: Finding): void {
  print(`${level.padEnd(8)} ${check.padEnd(12)} ${printable(reason)}${fix === undefined ? '' : ` ${printable(fix)}`}`)
}
