import { pageScript } from '../shared/assets.ts'

/**
 * Asks the device for a passkey when a form is sent, and sends its response in the field `response`. Password managers return
 * objects whose `toJSON` throws or is missing, and Safari before 18.4 cannot convert options. So the script converts both, and
 * reads only the members that the service needs.
 */
export const passkeyScript = pageScript(
  'passkeys',
  `for (const form of document.querySelectorAll('form[data-passkey]')) {
  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const button = form.querySelector('button')
    if (button.disabled) return
    button.disabled = true
    say('')
    try {
      form.elements.response.value = JSON.stringify(await response())
      form.submit()
    } catch (error) {
      button.disabled = false
      say(form.dataset[messageOf(error)])
    }
  })

  async function response() {
    if (navigator.credentials === undefined || window.PublicKeyCredential === undefined)
      throw new DOMException('', 'NotSupportedError')
    const options = JSON.parse(form.dataset.options)
    const publicKey = { ...options, challenge: bytesOf(options.challenge) }
    for (const list of ['allowCredentials', 'excludeCredentials'])
      if (options[list]) publicKey[list] = options[list].map((each) => ({ ...each, id: bytesOf(each.id) }))
    if (form.dataset.passkey === 'get') return signed(await navigator.credentials.get({ publicKey }))
    const owner = form.elements.owner?.value.trim()
    const named = owner ? { name: owner, displayName: owner } : {}
    publicKey.user = { ...options.user, ...named, id: bytesOf(options.user.id) }
    return created(await navigator.credentials.create({ publicKey }))
  }

  function say(text) {
    form.querySelector('[role=alert]').textContent = text
  }
}

function created({ rawId, response }) {
  return credential(rawId, {
    clientDataJSON: textOf(response.clientDataJSON),
    attestationObject: textOf(response.attestationObject),
    transports: transportsOf(response),
  })
}

function signed({ rawId, response }) {
  const { clientDataJSON, authenticatorData, signature, userHandle } = response
  return credential(rawId, {
    clientDataJSON: textOf(clientDataJSON),
    authenticatorData: textOf(authenticatorData),
    signature: textOf(signature),
    ...(userHandle?.byteLength ? { userHandle: textOf(userHandle) } : {}),
  })
}

function credential(rawId, response) {
  const id = textOf(rawId)
  return { id, rawId: id, type: 'public-key', response, clientExtensionResults: {} }
}

function transportsOf(response) {
  try {
    return [...response.getTransports()]
  } catch {
    return []
  }
}

function bytesOf(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))
}

function textOf(data) {
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data)
  if (bytes.length === 0) throw new TypeError('The passkey is incomplete')
  const binary = Array.from(bytes, (each) => String.fromCharCode(each)).join('')
  return btoa(binary).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}

function messageOf({ name }) {
  if (name === 'NotAllowedError' || name === 'AbortError') return 'cancelled'
  if (name === 'InvalidStateError') return 'known'
  return name === 'NotSupportedError' ? 'unsupported' : 'failed'
}
`,
)
