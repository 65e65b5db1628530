"""What to type to get the programs that the application works with, on this kind of machine."""

from __future__ import annotations

import shutil
import sys

_LINUX_PACKAGES = ("apt", "dnf", "pacman", "zypper")


def install_ollama() -> str:
    """From Ollama's own page of downloads; it starts by itself afterwards, with Homebrew by the second command."""
    if sys.platform == "darwin":
        return "brew install ollama\nbrew services start ollama"
    if sys.platform == "win32":
        return "winget install --id Ollama.Ollama"
    return "curl -fsSL https://ollama.com/install.sh | sh"


def update_ollama() -> str:
    """The newest version in place of the one that is there."""
    if sys.platform == "darwin":
        return "brew upgrade ollama\nbrew services restart ollama"
    if sys.platform == "win32":
        return "winget upgrade --id Ollama.Ollama"
    return install_ollama()


def start_ollama() -> str:
    """Starts a server that is installed, or nothing where it is not."""
    return "ollama serve" if shutil.which("ollama") else ""


def install_tesseract() -> str:
    """The program and English; other languages are packages of their own."""
    if sys.platform == "darwin":
        return "brew install tesseract tesseract-lang"
    if sys.platform == "win32":
        return "winget install --id UB-Mannheim.TesseractOCR"
    manager = next((name for name in _LINUX_PACKAGES if shutil.which(name)), "apt")
    return {
        "apt": "sudo apt install tesseract-ocr",
        "dnf": "sudo dnf install tesseract",
        "pacman": "sudo pacman -S tesseract tesseract-data-eng",
        "zypper": "sudo zypper install tesseract-ocr",
    }[manager]
