/*!
windtunnel worker page. MIT OR Apache-2.0. Built from web/; do not edit.
sources sha256: 1904afb33c89a7149b8c69daddac5d692fa6aa83a254648e2f251904a033a340

Contains uPlot 1.6.32:
The MIT License (MIT)

Copyright (c) 2022 Leon Sorokin

Permission is hereby granted, free of charge, to any person obtaining a copy
of this software and associated documentation files (the "Software"), to deal
in the Software without restriction, including without limitation the rights
to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is
furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in
all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR
IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF MERCHANTABILITY,
FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE
AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER
LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM,
OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN
THE SOFTWARE.
*/
(function(){var e=self,t=null;async function n(e){let{instance:t}=await WebAssembly.instantiate(e,{});return t.exports}function r(e,t){let n=new TextEncoder().encode(t),r=e.windtunnel_question(n.length)>>>0;new Uint8Array(e.memory.buffer,r,n.length).set(n);let i=e.windtunnel_ask()>>>0,a=e.windtunnel_answer()>>>0;return e.memory.buffer.slice(a,a+i)}e.onmessage=async({data:i})=>{if(typeof i!=`string`)t=n(i);else try{let n=r(await t,i);e.postMessage(n,[n])}catch(t){e.postMessage(String(t))}}})();